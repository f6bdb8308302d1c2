# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From where a node can go back, and what the boot loader starts meanwhile."""

import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import grub, kernels, kexec
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records
from ansible_collections.kup.fleet.plugins.module_utils._update import switch, transaction
from ansible_collections.kup.fleet.plugins.module_utils._update.record import Record


@pytest.fixture
def record(tmp_path, monkeypatch):
    """The record of a committed update on a node that runs the new kernel, the old one preserved."""
    monkeypatch.setattr(kexec, "KERNELS", str(tmp_path))
    monkeypatch.setattr(records, "RECORD", str(tmp_path / "record"))
    monkeypatch.setattr(records, "RECORD_COPY", str(tmp_path / "record.copy"))
    monkeypatch.setattr(kernels, "running", lambda: "7.2")
    (tmp_path / "6.12").mkdir()
    (tmp_path / "6.12" / "staged").write_text("")
    record = Record(
        PHASE="committed", KERNEL_OLD="6.12", KERNEL_NEW="7.2", ENGINE="ppp", DISK_CHECKPOINT="1", CHECKPOINT="2"
    )
    records.save(record)
    return record


@pytest.fixture
def done(monkeypatch):
    """What was done, in order; the departure is given up."""
    done = []

    def give_up(record, target, phase):
        done.append((target, phase, record["DISK_CHECKPOINT"], record["REASON"]))
        raise KupError("no room")

    monkeypatch.setattr(switch, "depart", give_up)
    monkeypatch.setattr(kexec, "unload", lambda: done.append("unload"))
    monkeypatch.setattr(grub, "pin", lambda release: done.append(f"pin {release}"))
    monkeypatch.setattr(grub, "remember", lambda: "as it was")
    monkeypatch.setattr(grub, "recall", lambda remembered: done.append(f"boot loader {remembered}"))
    monkeypatch.setattr(transaction, "clean_up", lambda record: done.append(f"clean up, {record['PHASE']}"))
    return done


@pytest.mark.parametrize("phase", ["probation", "committed"])
def test_there_is_a_way_back(record, phase):
    record["PHASE"] = phase
    assert switch.obstacle(record, records.RETURNABLE) is None


@pytest.mark.parametrize("phase", ["", "prepared", "switching", "returning", "fell_back", "aborted", "failed"])
def test_there_is_none_in_any_other_phase(record, phase):
    record["PHASE"] = phase
    assert "expected 'probation' or 'committed'" in switch.obstacle(record, records.RETURNABLE)


def test_there_is_none_from_a_kernel_that_is_not_the_updates(record, monkeypatch):
    monkeypatch.setattr(kernels, "running", lambda: "7.3")
    assert "on kernel 7.3, expected" in switch.obstacle(record, records.RETURNABLE)


def test_there_is_none_without_the_old_kernel(record, tmp_path, done):
    (tmp_path / "6.12" / "staged").unlink()
    with pytest.raises(KupError, match=r"6\.12 is preserved no more"):
        switch.go_back("it is slow", records.RETURNABLE)
    assert done == []
    assert records.load() == record


def test_the_boot_loader_starts_the_old_kernel_on_the_way_back_from_a_commit(record, done):
    with pytest.raises(KupError, match="no room"):
        switch.go_back("it's slow", records.RETURNABLE)
    assert done == [
        "unload",
        "pin 6.12",
        ("6.12", "returning", "", 'it"s slow'),
        "boot loader as it was",
        "clean up, committed",
    ]
    assert (records.load()["PHASE"], records.load()["REASON"]) == ("committed", "no room")


def test_nor_does_a_boot_loader_that_has_no_entry_for_it_keep_the_old_kernel(record, done, monkeypatch):
    def pin(release):
        raise KupError(f"no entry for {release}")

    monkeypatch.setattr(grub, "pin", pin)
    with pytest.raises(KupError, match=r"no entry for 6\.12"):
        switch.go_back("it is slow", records.RETURNABLE)
    assert done == ["unload", "boot loader as it was", "clean up, committed"]
    assert records.load()["REASON"] == "no entry for 6.12"


def test_on_trial_it_does_so_already(record, done):
    record["PHASE"] = "probation"
    records.save(record)
    with pytest.raises(KupError, match="no room"):
        switch.go_back("it is slow", records.RETURNABLE)
    assert done == ["unload", ("6.12", "returning", "1", "it is slow")]


def test_the_deadline_does_not_undo_a_commit(record, done):
    with pytest.raises(KupError, match=r"phase 'committed' on kernel 7\.2, expected 'probation' on 7\.2"):
        switch.go_back("nobody committed", records.UNDECIDED)
    assert done == []


@pytest.mark.parametrize(
    "killed, main_pid, ended",
    [(True, 8, ["a.service"]), (True, 0, ["a.service"]), (True, 7, []), (False, 8, [])],
)
def test_a_killed_dump_is_asked_what_it_has_ended(monkeypatch, killed, main_pid, ended):
    unit = types.SimpleNamespace(name="a.service", main_pid=7)
    parts = [types.SimpleNamespace(unit=unit, killed=killed), types.SimpleNamespace(unit=unit, killed=False)]
    monkeypatch.setattr(switch, "Unit", lambda name: types.SimpleNamespace(main_pid=main_pid))
    monkeypatch.setattr(switch, "_LAST_BREATH", 0)
    assert switch._ended(parts) == ended
