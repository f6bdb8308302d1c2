"""What is seen from outside of a mount namespace: real namespaces, as root."""

import glob
import os
import subprocess

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._criu import view
from ansible_collections.kup.fleet.plugins.module_utils._files import read_text
from ansible_collections.kup.fleet.plugins.module_utils._system.processes import Process

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make mount namespaces")


@pytest.fixture
def inside():
    """Run a shell script in a new mount namespace; returns its process, which waits after the script."""
    children = []

    def start(script="", *options):
        words = ["unshare", "--mount", *options, "sh", "-ec", f"{script}\necho ready\nread -r _"]
        child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        children.append(child)
        assert child.stdout.readline() == b"ready\n"
        return Process(child.pid)

    yield start
    for child in children:
        child.communicate(b"\n")


def test_a_plain_sandbox(inside):
    script = "mount -t tmpfs none /mnt; mount --bind /etc /etc; mount -o remount,bind,ro /etc; mount -t proc proc /proc"
    script += "; mount -t tmpfs none /usr/lib/systemd"
    assert view.look(inside(script)) == view.View(owned=True, root="/")


def test_a_namespace_of_an_unprivileged_application(inside):
    assert not view.look(inside("", "--user", "--map-root-user")).owned


def test_what_is_not_the_nodes_own(inside, tmp_path):
    (tmp_path / "preload").touch()
    (libc,) = glob.glob("/usr/lib/*-linux-gnu/libc.so.6")
    script = "mount -t tmpfs none /etc; : >/etc/ld.so.preload; mount -t tmpfs none /run"
    seen_there = view.look(inside(f"{script}; mount --bind {tmp_path}/preload {libc}")).foreign
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
def test_a_false_proc(inside, script):
    assert view.look(inside(f"{script}; :")).foreign == ("/proc",)


def test_a_proc_of_another_pid_namespace(inside):
    outer = inside("", "--pid", "--fork", "--mount-proc")
    (child,) = read_text(f"{outer.path}/task/{outer.pid}/children").split()
    assert view.look(Process(int(child))).foreign == ("/proc",)


def test_a_changed_root(tmp_path, inside):
    root = tmp_path / "root"
    root.mkdir()
    script = f"mount --bind / {root}; mount --rbind /proc {root}/proc; exec chroot {root} sh -c 'echo ready; read -r _'"
    assert view.look(inside(script)).root == str(root)


def test_directories_of_a_dynamic_user(inside, tmp_path):
    script = "mkdir -p /var/lib/private/kup-test; mount --bind /var/lib/private/kup-test /var/lib/private/kup-test"
    try:
        assert view.look(inside(script)).dynamic == ("/var/lib/private/kup-test",)
    finally:
        os.rmdir("/var/lib/private/kup-test")
