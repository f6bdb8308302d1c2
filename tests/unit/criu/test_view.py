"""What is seen from outside of a mount namespace: real namespaces, as root."""

import glob
import os
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._criu import view
from ansible_collections.kup.fleet.plugins.module_utils._files import read_text
from ansible_collections.kup.fleet.plugins.module_utils._system import mountinfo, private_places
from ansible_collections.kup.fleet.plugins.module_utils._system.processes import Process

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make mount namespaces")


@pytest.fixture
def look():
    """Look at a unit with this main process and text."""

    def look(main, text="[Service]\nPrivateTmp=yes\n", bind=""):
        properties = {"BindPaths": bind, "BindReadOnlyPaths": ""}
        return view.look(types.SimpleNamespace(main=main, definition=lambda: text, properties=properties))

    return look


def test_a_plain_sandbox(look, inside):
    script = "mount -t tmpfs none /mnt; mount --bind /etc /etc; mount -o remount,bind,ro /etc; mount -t proc proc /proc"
    script += "; mount -t tmpfs none /usr/lib/systemd"
    assert look(inside(script)) == view.View(owned=True, root="/")


def test_a_namespace_of_an_unprivileged_application(look, inside):
    assert not look(inside("", "--user", "--map-root-user")).owned


def test_a_namespace_whose_owner_the_kernel_does_not_tell(monkeypatch):
    def refused(*words):
        raise PermissionError

    monkeypatch.setattr(view.fcntl, "ioctl", refused)
    assert not view.is_owned(0)


def test_what_is_not_the_nodes_own(look, inside, tmp_path):
    (tmp_path / "preload").touch()
    (libc,) = glob.glob("/usr/lib/*-linux-gnu/libc.so.6")
    script = "mount -t tmpfs none /etc; : >/etc/ld.so.preload; mount -t tmpfs none /run"
    seen_there = look(inside(f"{script}; mount --bind {tmp_path}/preload {libc}")).foreign
    assert {"/etc", "/etc/ld.so.preload", "/run", libc} <= set(seen_there)
    assert "/proc" not in seen_there


@pytest.mark.parametrize(
    "script",
    [
        "mount -t tmpfs none /proc",
        "mount -t proc none /proc; mount -t tmpfs none /proc",
        # A procfs in another place, and links to it, are none.
        "mount -t tmpfs none /proc; ln -s /proc/1 /proc/1",
    ],
)
def test_a_false_proc(look, inside, script):
    assert look(inside(f"{script}; :")).foreign == ("/proc",)


def test_a_proc_of_another_pid_namespace(look, inside):
    outer = inside("", "--pid", "--fork", "--mount-proc")
    (child,) = read_text(f"{outer.path}/task/{outer.pid}/children").split()
    assert look(Process(int(child))).foreign == ("/proc",)


def test_a_changed_root(look, tmp_path, inside):
    root = tmp_path / "root"
    root.mkdir()
    script = f"mount --bind / {root}; mount --rbind /proc {root}/proc; exec chroot {root} sh -c 'echo ready; read -r _'"
    assert look(inside(script)).root == str(root)


@pytest.mark.parametrize(
    ("text", "by_systemd", "images"),
    [
        ("[Service]\nExecStart=/bin/a\n", False, ()),
        ("[Service]\n ProtectSystem = full\n", True, ()),
        (
            "[Service]\nDynamicUser=yes\nRootImage=\nExtensionImages=/a\nJoinsNamespaceOf=b\n",
            True,
            ("ExtensionImages", "JoinsNamespaceOf"),
        ),
        ("[Service]\n#PrivateTmp=yes\nNotPrivateTmp=yes\n", False, ()),
        ("[Service]\nProtectSystem=no \nPrivateTmp=FALSE\nBindPaths=\nProtectHome=0\n", False, ()),
        ("[Service]\nStateDirectory=a\nProtectHostname=yes\nLoadCredential=a\nExecSearchPath=/a\n", False, ()),
        ("[Service]\nBindPaths=/none\n", True, ()),
        ("[Service]\nReadOnlyPaths=/a\nProtectSystem=no\n", True, ()),
    ],
)
def test_who_made_the_mounts(look, inside, text, by_systemd, images):
    found = look(inside(), text)
    assert (found.by_systemd, found.images) == (by_systemd, images)


def test_an_ipc_namespace_whose_settings_cannot_be_written(look, inside):
    script = "mount --bind /proc/sys /proc/sys"
    assert look(inside(script, "--ipc")).sealed
    assert not look(inside(script)).sealed
    assert not look(inside("", "--ipc")).sealed


@pytest.mark.parametrize(
    ("path", "lasting"),
    [
        ("/srv/data/a", True),
        ("/srv/data", True),
        ("/srv/database", False),
        ("/tmp/a", True),
        ("/tmp", True),
        ("/tmp/other/a", False),
        ("/var/cache/a", False),
        ("/srv/data/memory/a", False),
        ("/srv/data/memory/disk/a", True),
        ("/var/tmp/a", True),
        ("/srv/a b/c", False),
    ],
)
def test_what_the_next_boot_has(tmp_path, path, lasting):
    rows = (
        "1 0 0:1 / / rw - tmpfs none rw",
        "2 1 8:1 /place /srv/data rw master:1 - ext4 /dev/sda rw",
        "3 1 8:1 /tmp/systemd-private-1-a.service-x/tmp /tmp rw - ext4 /dev/sda rw",
        "8 3 0:2 / /tmp/other rw - tmpfs none rw",
        "9 1 8:1 /tmp/systemd-private-2-b.service-x/tmp /var/cache rw - ext4 /dev/sda rw",
        "6 1 8:1 /var/lib/kup/systemd-private-x/var-tmp /var/tmp rw - ext4 /dev/sda rw",
        "4 2 0:2 / /srv/data/memory rw shared:2 - tmpfs none rw",
        "7 1 0:3 / /srv/a\\040b rw - tmpfs none rw",
        "5 4 8:1 / /srv/data/memory/disk rw - ext4 /dev/sda rw",
    )
    (tmp_path / "mountinfo").write_text("\n".join(rows) + "\n")
    places = [private_places.Place("/tmp"), private_places.Place("/var/tmp", "/var/lib/kup/systemd-private-x/var-tmp")]
    mounts = view.Mounts(mountinfo.of(str(tmp_path)), places)
    assert mounts.lasting(path) is lasting
    assert mounts.private(path) is (path in ("/tmp/a", "/tmp", "/var/tmp/a"))
    assert not view.Mounts([], places).lasting(path)


@pytest.mark.parametrize(
    ("bind", "movable"),
    [
        ("{theirs}:/opt/x:rbind", ()),
        ("-/usr:{theirs}/x", ()),
        ("{theirs}/x:{theirs}/x", ()),
        ("/usr:/opt/x {theirs}:{theirs}/x:rbind", ("{theirs}/x",)),
        ("-{theirs}/none:{theirs}/y", ("{theirs}/y",)),
        ("/usr:/opt/a b", ("b",)),
        ("{theirs}:/opt/x:rbind {theirs}:/opt/x/y", ("/opt/x/y",)),
        ("/usr:/opt/x {theirs}:/opt/x/lib", ()),
    ],
)
def test_mount_points_that_the_application_can_have_lead_elsewhere(look, inside, tmp_path, bind, movable):
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 1, 1)
    found = look(inside(), bind=bind.format(theirs=tmp_path / "theirs")).movable
    assert found == tuple(path.format(theirs=tmp_path / "theirs") for path in movable)
