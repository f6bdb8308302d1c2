# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The switch: what has happened before the kernel is replaced, and what is undone when it is not."""

import json
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import grub, kernels, spare_devices
from ansible_collections.kup.fleet.plugins.module_utils._engines import pending_memory
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError, PassingError
from ansible_collections.kup.fleet.plugins.module_utils._update import packages_lock, switch
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records

OLD, NEW = "6.12.1", "7.2.1"
UNDO = ["unload", "give up", "resume 1-a", "resume 1-b", "release packets", "release watchdogs"]
EXTEND = "extend watchdogs of 2"


def depart(node, record, target=NEW, phase="switching"):
    """Switch, and forget what happens after the kernel was replaced."""
    with pytest.raises(node.Jumped):
        switch.depart(record, target, phase)
    del node.events[node.at("kexec") + 1 :]


def give_up(node, record, error, phase="switching"):
    with pytest.raises(type(error)):
        switch.depart(record, NEW, phase)
    return records.load()


def on_probation(node, record):
    record["PHASE"], record["CHECKPOINT"] = "probation", "1"
    node.running.release = NEW


@pytest.mark.parametrize("phase", ["switching", "returning"])
def test_a_record_without_units_is_no_switch(node, record, phase):
    record["UNITS"] = ""
    with pytest.raises(KupError, match="names no unit"):
        switch.depart(record, NEW, phase)
    assert node.events == []


# What holds at the moment of the jump.


@pytest.fixture
def packages(node, monkeypatch):
    monkeypatch.setattr(packages_lock.PackagesLock, "take", lambda lock: node.note("take packages"))
    monkeypatch.setattr(packages_lock.PackagesLock, "release", lambda lock: node.note("release packages"))


@pytest.mark.usefixtures("packages")
def test_nobody_changes_packages_from_before_the_copies_to_the_jump(node, record):
    depart(node, record)
    assert node.in_order("take packages", "record checkpointing", "freeze 1-a", "kexec")
    assert "release packages" not in node.events


@pytest.mark.usefixtures("packages")
def test_a_switch_does_not_begin_while_others_change_packages(node, record):
    node.failing["take packages"] = error = KupError("The process apt[7] has been changing packages.")
    assert give_up(node, record, error)["REASON"] == str(error)
    assert "freeze 1-a" not in node.events
    assert "release packages" in node.events


@pytest.mark.usefixtures("packages")
def test_a_way_back_does_not_wait_for_ever(node, record):
    on_probation(node, record)
    node.failing["take packages"] = KupError("The process apt[7] has been changing packages.")
    depart(node, record, OLD, "returning")
    assert "kexec" in node.events


@pytest.fixture
def devices(node, monkeypatch):
    monkeypatch.setattr(spare_devices, "find", lambda: node.note("find devices") or [("0000:01:00.0", "nvme")])
    monkeypatch.setattr(spare_devices, "_LIST", str(node.directory / "spare-devices"))
    monkeypatch.setattr(spare_devices, "_write", lambda _address, _driver, verb: node.note(verb))


@pytest.mark.usefixtures("devices")
def test_drivers_let_go_of_devices_while_memory_is_copied(node, record):
    record["QUIESCE_DEVICES"] = "True"
    depart(node, record)
    assert node.in_order("record checkpointing", "find devices", "unbind", "freeze 1-a", "kexec")
    assert "bind" not in node.events


@pytest.mark.usefixtures("devices")
def test_drivers_look_after_them_again_where_the_switch_is_given_up(node, record):
    record["QUIESCE_DEVICES"] = "True"
    node.failing["freeze 1-b"] = error = KupError("broken")
    give_up(node, record, error)
    assert node.in_order("unbind", "resume 1-a", "bind")


@pytest.mark.usefixtures("devices")
def test_no_tree_is_frozen_while_a_driver_hangs(node, record, monkeypatch):
    record["QUIESCE_DEVICES"] = "True"
    monkeypatch.setattr(spare_devices.SpareDevices, "wait", lambda _devices, _patience: ["0000:01:00.0"])
    with pytest.raises(KupError, match="The drivers of 0000:01:00.0 have not let go of them within 30 s"):
        depart(node, record)
    assert "freeze 1-a" not in node.events
    assert record["PHASE"] == "aborted"


@pytest.mark.usefixtures("devices")
def test_a_way_back_does_not_wait_for_a_driver_that_hangs(node, record, monkeypatch):
    on_probation(node, record)
    record["QUIESCE_DEVICES"] = "True"
    monkeypatch.setattr(spare_devices.SpareDevices, "wait", lambda _devices, _patience: ["0000:01:00.0"])
    depart(node, record, OLD, "returning")
    assert "kexec" in node.events


@pytest.mark.usefixtures("devices")
def test_devices_stay_where_nobody_wants_it(node, record):
    depart(node, record)
    assert "find devices" not in node.events


def test_packets_are_held_before_a_tree_is_frozen(node, record):
    depart(node, record)
    assert node.in_order("lock packets", "freeze 1-a", "freeze 1-b")
    assert "release packets" not in node.events


def test_watchdogs_are_extended_before_criu_holds_a_unit_and_once_more_after_the_rounds(node, record):
    record["PPP_DISK_CHECKPOINT"] = "fake"
    depart(node, record)
    assert node.events.index(EXTEND) < node.at("pre-copy 1-a")
    assert EXTEND in node.events[node.at("pre-copy 2-b") : node.at("start 2-a")]
    assert "release watchdogs" not in node.events


# 64 GiB, at the pace of a slow disk, are 2048 s with a factor of two; two units share the disk.
@pytest.mark.parametrize(("rss", "limits"), [(1 << 20, ("120", "600")), (64 << 30, ("4097", "4096"))])
def test_the_next_boot_has_the_time_that_the_memory_needs(node, record, rss, limits):
    node.rss = rss
    depart(node, record)
    assert (node.jumped_with["RESTORE_TIMEOUT"], node.jumped_with["COMMIT_TIMEOUT"]) == limits


@pytest.mark.parametrize(("rss", "wanted", "patience"), [(1 << 20, "", 30), (2 << 30, "0", 128), (2 << 30, "7", 7)])
def test_a_freeze_has_a_limit(node, record, rss, wanted, patience):
    node.rss = rss
    record["FREEZE_MAX"] = wanted
    depart(node, record)
    assert node.patience == pytest.approx(patience, abs=1)


def test_the_fingerprint_is_taken_of_trees_that_stand_still(node, record):
    depart(node, record)
    assert node.in_order("complete 1-b", "fingerprint of 2 in the plan", "record switching")


def test_all_trees_are_frozen_before_any_dump_is_waited_for_and_none_runs_again(node, record):
    depart(node, record)
    assert node.in_order("freeze 1-a", "freeze 1-b", "complete 1-a", "complete 1-b", "seal 2")
    assert not [event for event in node.events if event.startswith("resume")]


def test_the_plan_is_complete_and_on_disk_before_the_record_names_it(node, record):
    depart(node, record)
    complete = "plan 1 complete, 0 sockets, threads [100, 101, 100, 101]"
    assert node.in_order(
        "plan 1 TABLE=1", "freeze 1-a", "seal 2", complete, "plan 1, 2 trees", "record switching", "kexec"
    )
    assert "sync" in node.events[node.at(complete) : node.at("record switching")]


def test_dirty_pages_of_others_are_written_before_the_freeze(node, record):
    depart(node, record)
    assert node.events.index("sync") < node.at("freeze 1-a")


def test_every_dump_is_checked_last_before_the_record(node, record):
    depart(node, record)
    between = node.events[: node.at("record switching")]
    assert between[-2:] == ["check 1-a", "check 1-b"]


def test_the_record_tells_the_next_boot_what_to_restore(node, record):
    depart(node, record)
    assert node.in_order("record switching", "kexec")
    told = node.jumped_with
    assert (told["PHASE"], told["CHECKPOINT"], told["BYTES"]) == ("switching", "1", "2000")
    assert (told["DATA"], told["REASON"]) == ("", "")
    assert json.loads((node.directory / "memory.json").read_text()) == {
        "a.service": {"pages": 7},
        "b.service": {"pages": 7},
    }


def test_until_the_checkpoint_is_complete_a_boot_starts_the_units_fresh(node, record):
    depart(node, record)
    assert node.in_order("record checkpointing", "pre-copy 1-a", "record switching")


def test_a_kernel_is_loaded_before_the_freeze(node, record):
    depart(node, record)
    assert node.in_order(f"load {NEW}", "pre-copy 1-a", "freeze 1-a")
    assert "unload" not in node.events


def test_the_next_boot_is_told_of_its_first_process_before_the_kernel_is_loaded(node, record):
    depart(node, record)
    assert node.in_order("another first process", f"load {NEW}")
    assert node.jumped_with["FIRST_PROCESS"]


def test_a_switch_that_is_given_up_leaves_no_first_process(node, record, without_bpf):
    node.failing["freeze 1-a"] = KupError("no")
    give_up(node, record, KupError())
    assert not without_bpf.exists()


def test_a_way_back_that_is_given_up_knows_how_this_boot_began(node, record, without_bpf):
    record["PHASE"] = "probation"
    node.failing["freeze 1-a"] = KupError("no")
    give_up(node, record, KupError(), "returning")
    assert without_bpf.exists()
    assert "another first process" not in node.events


def test_the_next_checkpoint_has_the_next_number(node, record):
    record["CHECKPOINT"] = "4"
    depart(node, record)
    assert node.jumped_with["CHECKPOINT"] == "5"
    assert "freeze 5-a" in node.events


def test_the_timeline_has_the_freeze(node, record):
    depart(node, record)
    lines = (node.directory / "timeline").read_text().splitlines()
    assert [line.split()[0] for line in lines][:3] == ["freeze", "dumped", "planned"]


def test_pending_memory_is_waited_for(node, record, monkeypatch):
    monkeypatch.setattr(pending_memory, "wait", lambda seconds: node.note("drained"))
    depart(node, record)
    assert node.at("drained") == 0


# The way back from probation.


def test_the_way_back_leaves_probation_only_with_a_complete_checkpoint(node, record):
    on_probation(node, record)
    depart(node, record, OLD, "returning")
    assert "record checkpointing" not in node.events
    assert node.in_order(f"load {OLD}", "check 2-b", "record returning", "kexec")
    assert node.jumped_with["DATA"] == ""


def test_lost_state_stays_lost_on_the_way_back(node, record):
    on_probation(node, record)
    node.lost = {"a.service"}
    depart(node, record, OLD, "returning")
    assert (node.jumped_with["DATA"], node.jumped_with["FRESH_UNITS"]) == ("partial", "a.service")


def test_state_that_the_restore_lost_stays_lost_on_the_way_back(node, record):
    on_probation(node, record)
    record["FRESH_UNITS"] = "b.service"
    node.lost = {"a.service"}
    depart(node, record, OLD, "returning")
    assert (node.jumped_with["DATA"], node.jumped_with["FRESH_UNITS"]) == ("fresh", "b.service a.service")


def test_lost_state_of_an_earlier_update_is_no_affair_of_this_one(node, record):
    node.lost = {"a.service"}
    depart(node, record)
    assert node.jumped_with["DATA"] == ""


# The disk checkpoint.


def test_a_disk_checkpoint_is_complete_before_the_switch_begins(node, record):
    record["PPP_DISK_CHECKPOINT"] = "fake"
    depart(node, record)
    assert node.in_order("plan 1 , connections end".strip(), "complete 1-b", "resume 1-b", "start 2-a", "freeze 2-b")
    assert node.events.count("lock packets") == 2
    assert node.events.count("release packets") == 1  # between the two freezes
    assert node.in_order("resume 1-b", "release packets", "freeze 2-a")
    assert (node.jumped_with["DISK_CHECKPOINT"], node.jumped_with["CHECKPOINT"]) == ("1", "2")
    memory = json.loads((node.directory / "memory.json").read_text())
    assert memory["b.service"]["backstop"]["pages"] == 7


def test_none_is_taken_on_probation_which_has_one(node, record):
    on_probation(node, record)
    record.update(PPP_DISK_CHECKPOINT="fake", DISK_CHECKPOINT="1")
    depart(node, record, OLD, "returning")
    assert (node.jumped_with["DISK_CHECKPOINT"], node.jumped_with["CHECKPOINT"]) == ("1", "2")
    assert node.events.count("lock packets") == 1


def test_a_disk_checkpoint_that_fails_is_undone_and_discarded(node, record):
    record["PPP_DISK_CHECKPOINT"] = "fake"
    node.failing["complete 1-b"] = KupError("disk full")
    told = give_up(node, record, KupError())
    assert node.in_order("complete 1-b", "resume 1-a", "resume 1-b", "unload", "discard 1-a", "discard 1-b")
    assert (told["PHASE"], told["REASON"]) == ("aborted", "disk full")


def test_both_checkpoints_are_discarded(node, record):
    record["PPP_DISK_CHECKPOINT"] = "fake"
    node.failing["seal 2"] = KupError("no room")
    give_up(node, record, KupError())
    assert {f"discard {each}" for each in ("1-a", "1-b", "2-a", "2-b")} <= set(node.events)


# What is undone.


@pytest.mark.parametrize("error", [KupError("no"), OSError("no"), KeyboardInterrupt("no"), SystemExit("no")])
@pytest.mark.parametrize(
    "point",
    [
        f"load {NEW}",
        "pre-copy 1-b",
        "plan 1 TABLE=1",
        "start 1-b",
        "ready 1-a",
        "before freeze 1-b",
        "lock packets",
        "freeze 1-b",
        "complete 1-a",
        "seal 2",
        "sync",
        "check 1-b",
        "record switching",
        "kexec",
    ],
)
def test_wherever_it_ends_the_applications_run_on(node, record, point, error):
    node.failing[point] = error
    told = give_up(node, record, error)
    after = node.after(point)
    # The kernel first, packets after the trees; then room for the record.
    assert after[:-1] == [*UNDO, "discard 1-a", "discard 1-b"]
    assert after[-1] == "record aborted"
    assert (told["PHASE"], told["REASON"], told["DATA"]) == ("aborted", "no", "running")


def test_what_fails_before_there_are_checkpoints_is_undone_as_well(node, record, monkeypatch):
    def wait(seconds):
        raise KupError("not in place")

    monkeypatch.setattr(pending_memory, "wait", wait)
    assert give_up(node, record, KupError())["PHASE"] == "aborted"
    assert node.events == ["unload", "give up", "release packets", "release watchdogs", "record aborted"]


@pytest.mark.parametrize("broken", UNDO)
@pytest.mark.parametrize("error", [KupError("cannot"), OSError("cannot")])
def test_an_undo_that_fails_does_not_stop_the_others(node, record, broken, error):
    node.failing = {"check 1-a": KupError("no"), broken: error}
    assert give_up(node, record, KupError())["REASON"] == "no"
    assert node.after("check 1-a")[: len(UNDO)] == UNDO


@pytest.mark.parametrize("before", ["probation", "committed"])
def test_a_way_back_that_is_given_up_changes_no_phase(node, record, before):
    record["PHASE"] = before
    node.failing["freeze 1-a"] = KupError("no")
    told = give_up(node, record, KupError(), "returning")
    assert (told["PHASE"], told["REASON"], told["DATA"]) == (before, "no", "running")


def test_probation_keeps_its_checkpoint(node, record):
    on_probation(node, record)
    node.failing["freeze 2-a"] = KupError("no")
    give_up(node, record, KupError(), "returning")
    assert not [event for event in node.events if event.startswith("discard")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("prepared", "aborted"),
        ("checkpointing", "aborted"),
        ("probation", "probation"),
        ("committed", "committed"),
    ],
)
def test_the_phase_after_a_failure(before, after):
    assert switch.phase_after_failure(before) == after


@pytest.mark.parametrize(
    ("killed", "main_pid", "ended"), [(True, 8, True), (True, 0, True), (True, 100, False), (False, 8, False)]
)
def test_a_unit_that_did_not_survive_a_killed_dump_is_named(node, record, killed, main_pid, ended):
    class Killed(KupError):
        pass

    def main_pid_of(name, unit=switch.Unit):
        found = unit(name)
        found.main_pid = main_pid if name == "b.service" else found.main_pid
        return found

    node.killed = {"a.service"} if killed else set()
    node.failing["complete 1-b"] = Killed("CRIU was killed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(switch, "Unit", main_pid_of)
        told = give_up(node, record, Killed())
    assert told["DATA"] == ("partial" if ended else "running")
    assert told["FRESH_UNITS"] == ("b.service" if ended else "")
    assert told["REASON"] == "CRIU was killed" + ("; that has ended b.service" if ended else "")


# From where a node can go back, and what the boot loader starts meanwhile.


@pytest.fixture
def committed(node, record):
    record.update(PHASE="committed", DISK_CHECKPOINT="1", CHECKPOINT="2")
    node.running.release = NEW
    records.save(record)
    node.events.clear()
    return record


@pytest.mark.parametrize("phase", ["probation", "committed"])
def test_there_is_a_way_back(committed, phase):
    committed["PHASE"] = phase
    assert switch.blocker(committed, records.RETURNABLE) is None


@pytest.mark.parametrize("phase", ["", "prepared", "switching", "returning", "fell_back", "aborted", "failed"])
def test_there_is_none_in_any_other_phase(committed, phase):
    committed["PHASE"] = phase
    assert "expected 'probation' or 'committed'" in switch.blocker(committed, records.RETURNABLE)


def test_there_is_none_from_a_kernel_that_is_not_the_updates(committed, monkeypatch):
    monkeypatch.setattr(kernels, "running", lambda: "7.3")
    assert "on kernel 7.3, expected" in switch.blocker(committed, records.RETURNABLE)


def test_there_is_none_without_the_old_kernel(node, committed):
    (node.directory / "kernels" / OLD / "staged").unlink()
    with pytest.raises(KupError, match=r"6\.12\.1 is not preserved any more"):
        switch.go_back("it is slow", records.RETURNABLE)
    assert node.events == []
    assert records.load() == committed


def test_the_deadline_does_not_undo_a_commit(node, committed):
    with pytest.raises(KupError, match=r"phase 'committed' on kernel 7\.2\.1, expected 'probation' on 7\.2\.1"):
        switch.go_back("nobody committed", records.UNDECIDED)
    assert node.events == []


def test_the_boot_loader_starts_the_old_kernel_on_the_way_back_from_a_commit(node, committed):
    with pytest.raises(node.Jumped):
        switch.go_back("it's slow", records.RETURNABLE)
    assert node.in_order(f"pin {OLD}", f"load {OLD}", "freeze 3-a", "record returning", "kexec")
    assert node.events.index("unload") < node.at(f"pin {OLD}")
    assert node.jumped_with["REASON"] == "it's slow"
    assert node.jumped_with["DISK_CHECKPOINT"] == ""  # it went with the images


def test_what_a_committed_update_has_lost_was_told_then(node, committed):
    committed.update(FRESH_UNITS="a.service", FAILED_UNITS="a.service", DATA="partial")
    records.save(committed)
    with pytest.raises(node.Jumped):
        switch.go_back("it is slow", records.RETURNABLE)
    assert [node.jumped_with[key] for key in ("FRESH_UNITS", "FAILED_UNITS", "DATA")] == ["", "", ""]


@pytest.mark.parametrize("point", [f"pin {OLD}", "freeze 3-b"])
@pytest.mark.parametrize("error", [KupError("no"), KeyboardInterrupt("no")])
def test_a_commit_that_is_not_left_is_as_before(node, committed, monkeypatch, point, error):
    node.failing[point] = error
    monkeypatch.setattr(switch.leftovers, "clean_up", lambda record: node.note(f"clean up, {record['PHASE']}"))
    with pytest.raises(type(error)):
        switch.go_back("it is slow", records.RETURNABLE)
    assert node.events[-3:] == ["boot loader as it was", "record committed", "clean up, committed"]
    assert (records.load()["PHASE"], records.load()["REASON"]) == ("committed", "no")


def test_on_probation_the_boot_loader_starts_the_old_kernel_already(node, committed, monkeypatch):
    committed["PHASE"] = "probation"
    records.save(committed)
    node.failing["freeze 3-a"] = KupError("no room")
    monkeypatch.setattr(grub, "pin", lambda release: pytest.fail("pinned"))
    with pytest.raises(KupError, match="no room"):
        switch.go_back("it is slow", records.RETURNABLE)
    assert "boot loader as it was" not in node.events
    assert records.load()["PHASE"] == "probation"


# What may have passed a moment later.

BUSY = PassingError("A unix connection of a.service leads to a process that is not carried.")


class Always(dict):
    """What fails each time, not only the first."""

    def pop(self, event):
        return self[event]


def test_what_has_passed_by_the_next_attempt_stops_no_switch(node, record):
    node.failing["complete 1-b"] = BUSY
    depart(node, record)
    second = node.events[node.events.index("release watchdogs") + 1 :]
    assert node.events.count("freeze 1-a") == 2
    assert [event for event in node.events if event.startswith("record")] == ["record checkpointing"] * 2 + [
        "record switching"
    ]
    # The first attempt is undone before the second begins.
    assert set(UNDO) <= set(node.events[: node.events.index("release watchdogs") + 1])
    assert "load 7.2.1" in second and "resume 1-a" not in second
    assert node.jumped_with["REASON"] == ""


def test_what_does_not_pass_ends_the_third_attempt(node, record):
    node.failing = Always({"complete 1-b": BUSY})
    assert give_up(node, record, BUSY)["PHASE"] == "aborted"
    assert node.events.count("freeze 1-a") == 3
    assert node.events.count("record aborted") == 1


def test_what_cannot_pass_is_not_tried_again(node, record):
    node.failing = Always({"complete 1-b": KupError("no")})
    give_up(node, record, KupError("no"))
    assert node.events.count("freeze 1-a") == 1


def test_a_unit_that_has_ended_is_not_frozen_as_another_one(node, record, monkeypatch):
    monkeypatch.setattr(switch, "_replaced", lambda taken: [each.unit.name for each in taken])
    node.failing = Always({"complete 1-b": BUSY})
    give_up(node, record, BUSY)
    assert node.events.count("freeze 1-a") == 1


def test_what_cannot_be_looked_at_after_an_attempt_ends_the_switch_in_order(node, record, monkeypatch):
    def replaced(taken):
        raise KupError("systemctl ended with 1")

    monkeypatch.setattr(switch, "_replaced", replaced)
    node.failing = Always({"complete 1-b": BUSY})
    assert give_up(node, record, BUSY)["PHASE"] == "aborted"


@pytest.mark.parametrize("error", [BrokenPipeError(), UnicodeEncodeError("ascii", "é", 0, 1, "no")])
def test_a_journal_that_takes_nothing_stops_no_second_attempt(node, record, monkeypatch, error):
    def write(text):
        raise error

    monkeypatch.setattr(switch.sys, "stdout", types.SimpleNamespace(write=write))
    node.failing["complete 1-b"] = BUSY
    depart(node, record)


def test_several_attempts_together_freeze_no_longer_than_one_may(node, record, monkeypatch):
    clock = iter(range(0, 10000, 9))
    monkeypatch.setattr(
        switch, "time", types.SimpleNamespace(monotonic=lambda: next(clock), sleep=lambda seconds: None)
    )
    record["FREEZE_MAX"] = "30"
    node.failing = Always({"complete 1-b": BUSY})
    give_up(node, record, BUSY)
    # 9 s of 30 each.
    assert node.events.count("freeze 1-a") == 2


def test_a_way_back_is_tried_again_without_losing_its_phase(node, record):
    on_probation(node, record)
    node.failing["complete 2-a"] = BUSY
    depart(node, record, OLD, "returning")
    assert [event for event in node.events if event.startswith("record")] == ["record returning"]
