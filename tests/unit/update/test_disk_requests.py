"""Requests of libaio that are under way at the freeze."""

import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._update import disk_requests


@pytest.fixture
def disks(tmp_path, monkeypatch):
    """A function that writes what disks have done, and what is under way; time passes by ``later``: what happens in each pause."""
    later, now = [], [0.0]

    def write(**found):
        for name, (done, under_way) in found.items():
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / "stat").write_text(f"{done - 1} 0 8 0 1 0 8 0 {under_way} 0 0\n")

    def sleep(seconds):
        now[0] += seconds
        if later:
            write(**later.pop(0))

    monkeypatch.setattr(disk_requests, "_DISKS", str(tmp_path))
    monkeypatch.setattr(disk_requests.time, "sleep", sleep)
    monkeypatch.setattr(disk_requests.time, "monotonic", lambda: now[0])
    write.later = later
    return write


def test_idle_disks_are_not_waited_for(disks, monkeypatch):
    disks(sda=(100, 0), sdb=(7, 0))
    monkeypatch.setattr(disk_requests.time, "sleep", None)
    assert disk_requests.wait() == []


def test_what_was_under_way_is_waited_for_and_not_what_others_ask_for_meanwhile(disks):
    disks(sda=(100, 3), sdb=(7, 1))
    disks.later += [{"sda": (102, 9), "sdb": (7, 1)}, {"sda": (103, 9), "sdb": (7, 0)}, {"sda": (104, 9)}]
    assert disk_requests.wait() == []
    assert len(disks.later) == 1


def test_a_disk_that_does_not_answer_is_named(disks):
    disks(sda=(100, 3), sdb=(7, 1))
    disks.later.append({"sdb": (8, 1)})
    assert disk_requests.wait() == ["sda"]


@pytest.mark.parametrize(
    ("row", "found"), [("7f1-7f2 rw-s 0 00:11 9 /[aio] (deleted)", True), ("7f1-7f2 rw-s 0 00:11 9 /x[aio]", False)]
)
def test_a_ring_is_seen_in_the_mappings(tmp_path, row, found):
    (tmp_path / "maps").write_text(f"{row}\n")
    assert disk_requests.has_ring([types.SimpleNamespace(path=str(tmp_path))]) is found
