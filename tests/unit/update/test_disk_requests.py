"""Requests of libaio that are under way at the freeze."""

import os
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._update import disk_requests


@pytest.fixture
def disks(tmp_path, monkeypatch):
    """A function that writes what disks have done, and what is under way; time passes by ``later``: what happens in each pause."""
    later, now = [], [0.0]

    def write(**found):
        for name, (done, under_way) in found.items():
            (tmp_path / name / "queue").mkdir(parents=True, exist_ok=True)
            (tmp_path / name / "stat").write_text(f"{done - 1} 0 8 0 1 0 8 0 {under_way} 0 0\n")
            (tmp_path / name / "queue/nr_requests").write_text("2\n")

    def sleep(seconds):
        now[0] += seconds
        if later:
            write(**later.pop(0))

    monkeypatch.setattr(disk_requests, "_DISKS", str(tmp_path))
    monkeypatch.setattr(disk_requests, "_names", lambda several: several)
    monkeypatch.setattr(disk_requests.time, "sleep", sleep)
    monkeypatch.setattr(disk_requests.time, "monotonic", lambda: now[0])
    write.later = later
    return write


def test_a_disk_has_to_be_idle_twice(disks):
    disks(sda=(100, 0))
    disks.later += [{"sda": (100, 0)}, {}]
    assert disk_requests.wait({"sda"}) == []
    assert len(disks.later) == 1
    # A request was on its way from the queue to the disk.
    disks(sda=(100, 0))
    disks.later[:] = [{"sda": (100, 1)}, {"sda": (101, 0)}, {"sda": (101, 0)}, {}]
    assert disk_requests.wait({"sda"}) == []
    assert len(disks.later) == 1


def test_a_disk_that_others_keep_busy_has_done_all_that_may_have_waited(disks):
    disks(sda=(100, 3))
    disks.later += [{"sda": (103, 9)}, {"sda": (104, 9)}, {"sda": (105, 9)}, {}]
    assert disk_requests.wait({"sda"}) == []
    assert len(disks.later) == 1


def test_a_disk_that_does_not_answer_is_named(disks):
    disks(sda=(100, 3), sdb=(7, 1), sdc=(1, 1))
    disks.later.append({"sdb": (8, 0)})
    assert disk_requests.wait({"sda", "sdb"}) == ["sda"]


def test_a_disk_that_is_gone_is_not_waited_for(disks):
    disks(sda=(100, 3))
    assert disk_requests.wait({"sda", "sdz"}) == ["sda"]


def test_only_disks_of_open_files_count(tmp_path, monkeypatch):
    for path in (
        "vda/vda1/partition",
        "vda/vda1/stat",
        "vda/stat",
        "sdb/stat",
        "dm-0/stat",
        "dm-0/slaves/vda1/partition",
        "x",
    ):
        place = tmp_path / "block" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    file = tmp_path / "file"
    file.touch()
    process = types.SimpleNamespace(path=str(tmp_path), descriptors=lambda: [(0, str(file)), (1, "gone")])
    (tmp_path / "fd").mkdir()
    (tmp_path / "fd/0").symlink_to(file)
    number = os.stat(file).st_dev
    devices = tmp_path / "dev"
    devices.mkdir()
    monkeypatch.setattr(disk_requests, "_DISKS", str(tmp_path / "block"))
    monkeypatch.setattr(disk_requests, "_DEVICES", str(devices))
    # A file system of several devices: all of them.
    assert disk_requests._names([process]) == {"vda", "sdb", "dm-0", "x"}
    link = devices / f"{os.major(number)}:{os.minor(number)}"
    link.symlink_to(tmp_path / "block/vda/vda1")
    assert disk_requests._names([process]) == {"vda"}
    link.unlink()
    link.symlink_to(tmp_path / "block/dm-0")
    (tmp_path / "block/dm-0/slaves/vda1/partition").unlink()
    (tmp_path / "block/dm-0/slaves/vda1").rmdir()
    (tmp_path / "block/dm-0/slaves/vda1").symlink_to(tmp_path / "block/vda/vda1")
    assert disk_requests._names([process]) == {"vda"}


@pytest.mark.parametrize(
    ("row", "found"), [("7f1-7f2 rw-s 0 00:11 9 /[aio] (deleted)", True), ("7f1-7f2 rw-s 0 00:11 9 /x[aio]", False)]
)
def test_a_ring_is_seen_in_the_mappings(tmp_path, row, found):
    (tmp_path / "maps").write_text(f"{row}\n")
    assert disk_requests.has_ring([types.SimpleNamespace(path=str(tmp_path))]) is found
