"""The file systems that a unit uses: which they are, and whether the next boot has them."""

import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._environment import checks, mounts
from ansible_collections.kup.fleet.plugins.module_utils._system import filesystems, mountinfo
from ansible_collections.kup.fleet.plugins.module_utils._system.private_places import Place

NODE = """22 1 8:1 / / rw - ext4 /dev/sda1 rw
23 22 0:20 / /proc rw - proc proc rw
24 22 0:21 / /run rw - tmpfs tmpfs rw
30 22 8:17 / /srv rw - ext4 /dev/sdb1 rw
31 30 8:33 /d /srv/a\\040b rw - xfs /dev/sdc1 rw
32 22 8:49 / /usr rw - ext4 /dev/sdd1 rw
33 22 8:17 /sub /opt/sub rw - ext4 /dev/sdb1 rw
34 22 0:50 / /mnt/o rw - overlay overlay rw
"""
# The unit's own namespace has other numbers, and the directory /srv/sub/x as /data.
OWN = """40 1 8:1 / / rw - ext4 /dev/sda1 rw
41 40 8:17 /sub/x /data rw - ext4 /dev/sdb1 rw
42 40 0:60 / /tmp rw - tmpfs tmpfs rw
43 40 8:17 / /srv rw,nosuid - ext4 /dev/sdb1 rw
44 40 8:33 /d /srv/a\\040b ro - xfs /dev/sdc1 rw
45 40 8:49 / /usr ro - ext4 /dev/sdd1 rw
46 40 0:20 / /proc ro - proc proc rw
"""


def mount(**values):
    fields = {"place": "/srv", "kind": "ext4", "source": "/dev/sdb1", "made": True, "other": "", "locked": ""}
    return mounts.Mount(**{**fields, **values})


@pytest.fixture
def unit(monkeypatch):
    """A unit of which each process uses the mounts with these numbers; its processes see `NODE`, those with numbers above 40 `OWN`."""

    monkeypatch.setattr(mounts.private_places, "of", lambda unit: [])

    def made(*numbers):
        tables = {1: NODE}
        tables |= {100 + index: NODE if min(used) < "40" else OWN for index, used in enumerate(numbers)}
        monkeypatch.setattr(mountinfo, "read_lines", lambda path: tables[int(path.split("/")[2])].splitlines())
        monkeypatch.setattr(mounts, "_numbers", lambda process: set(numbers[process.pid - 100]))
        monkeypatch.setattr(mounts.filesystems, "mounted_by_boot", lambda place: True)
        monkeypatch.setattr(mounts, "_other", lambda row: "")
        monkeypatch.setattr(mounts, "_locked", lambda source: "")
        processes = [
            types.SimpleNamespace(pid=100 + index, path=f"/proc/{100 + index}") for index in range(len(numbers))
        ]
        return types.SimpleNamespace(processes=processes, main=processes[0], own_mounts=min(numbers[0]) >= "40")

    return made


def places(unit):
    return [each.place for each in mounts.of_unit(unit)]


def test_what_every_boot_has_is_left_out(unit):
    assert places(unit(["22", "23", "24", "32", "9"])) == []


def test_the_file_systems_of_all_processes_are_found_once(unit):
    assert places(unit(["30", "31"], ["30", "34"])) == ["/mnt/o", "/srv", "/srv/a b"]


def test_a_unit_with_mounts_of_its_own_needs_those_of_the_node_below_them(unit):
    assert places(unit(["40", "41", "42"])) == ["/opt/sub", "/srv/a b"]
    assert places(unit(["43"])) == ["/srv", "/srv/a b"]


def test_a_process_that_has_changed_its_root_directory_has_the_mounts_of_its_unit(unit, monkeypatch):
    one = unit(["40"], ["43"])
    read = mountinfo.read_lines
    # It sees those below its new root only.
    monkeypatch.setattr(mountinfo, "read_lines", lambda path: [] if path.startswith("/proc/101/") else read(path))
    assert places(one) == ["/srv", "/srv/a b"]


def test_a_private_directory_needs_the_file_system_that_it_is_in(unit, monkeypatch):
    found = [Place("/tmp"), Place("/var/tmp", "/srv/a b/systemd-private-1/tmp"), Place("/x", "/var/lib/kup/x/tmp")]
    monkeypatch.setattr(mounts.private_places, "of", lambda unit: found)
    monkeypatch.setattr(mounts, "_altered", lambda own, node: set())
    assert places(unit(["40"])) == ["/srv/a b"]


@pytest.mark.parametrize("lacks", [{"made": False}, {"other": "/dev/x"}, {"locked": "x"}])
def test_a_file_system_that_a_unit_may_not_write_is_waited_for_where_it_comes(unit, monkeypatch, lacks):
    """Mounted later, it would be writable; nobody has to mount one that the unit does not use."""
    one = unit(["40"])
    assert places(one) == ["/srv/a b"]
    monkeypatch.setattr(mounts, "_judged", lambda row: mount(place=row.place, **lacks))
    assert places(one) == []


def test_a_process_uses_what_it_has_open_mapped_and_stands_in(tmp_path):
    process = tmp_path / "7"
    for folder in ("fdinfo", "map_files"):
        (process / folder).mkdir(parents=True)
    (process / "fdinfo/3").write_text("pos:\t0\nmnt_id:\t77\n")
    (process / "maps").write_text("00400000-00401000 r-xp 0 08:01 5  /bin/a\n7f00-7f01 rw-p 0 00:00 0  [heap]\n")
    links = ("cwd", "root", "exe", "map_files/400000-401000")
    for name in links:
        (process / name).symlink_to("/")
    one = types.SimpleNamespace(path=str(process), descriptors=lambda: [(3, "/a"), (4, "gone")])
    assert mounts._numbers(one) == {"77", mounts._mount_of_link("/")}
    for kept in links:
        for name in links:
            (process / name).unlink(missing_ok=True)
        (process / kept).symlink_to("/")
        assert mounts._mount_of_link("/") in mounts._numbers(one), kept


def test_the_mount_of_a_link_is_that_of_its_target():
    by_number = {row.number: row.place for row in mountinfo.of("/proc/self")}
    assert by_number[mounts._mount_of_link("/proc/self/status")] == "/proc"
    assert mounts._mount_of_link("/nowhere") == ""


@pytest.mark.parametrize(
    ("text", "other"),
    [("What=/dev/disk/by-uuid/1\n", ""), ("What=/dev/sdz1\n", "/dev/sdz1"), ("What=/images/disk\n", ""), ("", "")],
)
def test_another_device_in_the_same_place(monkeypatch, text, other):
    monkeypatch.setattr(filesystems, "mount_file", lambda place: "/run/systemd/generator/srv.mount")
    monkeypatch.setattr(mounts, "read_text", lambda path, default: f"[Mount]\n{text}")
    monkeypatch.setattr(mounts, "_block_device", lambda path: path.replace("/dev/disk/by-uuid/1", "/dev/sdb1"))
    assert mounts._other(mountinfo.Row("30", "8:17", "/", "/srv", "rw", "ext4", "/dev/sdb1", "rw")) == other


CRYPTTAB = """# name device key options
plain UUID=1 none luks
keyed UUID=2 /etc/key luks
sealed UUID=3 none luks,tpm2-device=auto
pinned UUID=4 - tpm2-device=auto,tpm2-pin=yes
short UUID=5
"""


@pytest.mark.parametrize(
    ("name", "asks"),
    [("plain", True), ("keyed", False), ("sealed", False), ("pinned", True), ("short", True), ("absent", True)],
)
def test_which_volumes_ask_for_a_passphrase(monkeypatch, name, asks):
    monkeypatch.setattr(mounts, "read_lines", lambda path: CRYPTTAB.splitlines())
    assert mounts._asks(name) is asks


@pytest.fixture
def disks(monkeypatch, tmp_path):
    """/sys of a logical volume on an encrypted partition."""
    for path, text in {"dm-1/dm/uuid": "LVM-1", "dm-0/dm/uuid": "CRYPT-LUKS2-1", "dm-0/dm/name": "root_crypt"}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "dm-1/slaves").mkdir()
    (tmp_path / "dm-1/slaves/dm-0").symlink_to(tmp_path / "dm-0")
    monkeypatch.setattr(mounts, "_block_device", lambda source: str(tmp_path / "dm-1"))
    monkeypatch.setattr(mounts, "_asks", lambda name: name == "root_crypt")
    return tmp_path


def test_encryption_is_found_below_logical_volumes(disks):
    assert mounts._locked("/dev/mapper/vg-root") == "root_crypt"


def test_a_file_system_without_encryption_asks_for_nothing(disks):
    (disks / "dm-0/dm/uuid").write_text("LVM-2")
    assert mounts._locked("/dev/mapper/vg-root") == ""


def test_a_file_system_without_a_device_asks_for_nothing():
    for source in ("server:/export", "/dev/nothing", "/dev/null/x", "tmpfs"):
        assert mounts._locked(source) == ""


def test_the_root_is_looked_at(monkeypatch):
    monkeypatch.setattr(mountinfo, "read_lines", lambda path: NODE.splitlines())
    monkeypatch.setattr(mounts, "_locked", {"/dev/sdd1": "usr_crypt", "/dev/sdb1": "other"}.get)
    assert mounts.locked_root() == "usr_crypt"


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ({}, []),
        ({"kind": "nfs4", "source": "server:/export"}, []),
        ({"kind": "overlay"}, ["mount-kind"]),
        ({"kind": "fuse.sshfs"}, ["mount-kind"]),
        ({"kind": "autofs"}, ["mount-kind"]),
        ({"made": False}, ["mount-by-hand"]),
        ({"other": "/dev/sdz1"}, ["mount-other"]),
        ({"locked": "data_crypt"}, ["mount-locked"]),
        ({"place": "/srv/a b"}, ["mount-name"]),
    ],
)
def test_what_is_refused_of_a_file_system(values, codes):
    found = [each for check in checks.MOUNT_CHECKS for each in check(mount(**values))]
    assert [each.code for each in found] == codes
    assert all("the file system /srv" in each.sentence() for each in found)


def test_a_root_that_asks_for_a_passphrase_is_refused():
    assert checks.root_locked("") == []
    assert checks.root_locked("root_crypt")[0].code == "root-locked"
