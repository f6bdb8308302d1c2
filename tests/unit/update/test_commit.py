# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A commit: in an order in which the node, wherever it ends, still has one complete way."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import commit
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records

NEW = "7.2.1"
DEADLINE = "systemctl stop kup-deadline.timer kup-deadline.service"
WATCH = "systemctl stop kup-watch.timer kup-watch.service kup-shutdown.service"


@pytest.fixture
def probation(node, record):
    record.update(PHASE="probation", DATA="checkpoint")
    node.running.release = NEW
    (node.directory / "images" / record["ID"]).mkdir(parents=True)
    records.save(record)
    node.events.clear()
    return record


def test_the_new_kernel_is_the_boot_default_and_nothing_takes_the_node_back(node, probation):
    assert commit.commit()
    assert node.in_order(f"unpin {NEW}", "record committed", DEADLINE)
    assert node.in_order("record committed", WATCH, "release packets")
    assert (records.load()["PHASE"], records.load()["DATA"]) == ("committed", "checkpoint")


def test_what_the_start_of_the_kernel_took_is_kept_for_the_next_forecast(node, probation, monkeypatch):
    monkeypatch.setattr(commit.timeline, "start", lambda events: "6.5")
    commit.commit()
    assert records.load()["START_SECONDS"] == "6.5"


def test_the_deadline_ends_only_when_the_record_is_written(node, probation):
    node.failing["record committed"] = OSError("Read-only file system")
    with pytest.raises(OSError, match="Read-only"):
        commit.commit()
    assert DEADLINE not in node.events
    assert WATCH not in node.events
    assert records.load()["PHASE"] == "probation"


def test_a_commit_that_cannot_be_written_changes_nothing(node, probation):
    node.failing["record probation"] = OSError("Read-only file system")
    with pytest.raises(OSError, match="Read-only"):
        commit.commit()
    assert node.events == ["record probation"]


def test_a_later_panic_does_not_take_the_node_back(node, probation):
    commit.commit()
    assert node.in_order("record probation", "disarm", "panic settings panic=0", f"unpin {NEW}")


def test_what_failed_on_probation_does_not_stay_failed(node, probation):
    commit.commit()
    assert node.in_order(DEADLINE, "systemctl reset-failed kup-deadline.service kup-watch.service kup-crash.service")


def test_what_the_update_left_is_removed_last(node, probation):
    commit.commit()
    assert node.in_order(DEADLINE, "release packets", "give up", "systemctl daemon-reload")


REEXEC = "systemctl daemon-reexec"


def test_systemd_has_all_again_before_the_commit(node, probation, without_bpf):
    commit.commit()
    assert node.in_order(REEXEC, "record committed", "systemctl daemon-reload")
    assert not without_bpf.exists()


def test_a_commit_that_did_not_come_to_it_is_made_once_more(node, probation, without_bpf):
    node.failing[REEXEC] = KupError("refused")
    with pytest.raises(KupError, match="refused"):
        commit.commit()
    assert records.load()["PHASE"] == "probation"
    node.events.clear()
    assert commit.commit(dry=True)
    assert node.events == []
    assert commit.commit()
    assert REEXEC in node.events
    assert not commit.commit()


def test_lost_state_is_recorded(node, probation):
    node.lost = {"b.service"}
    commit.commit()
    assert records.load()["DATA"] == "partial"
    assert records.load().fresh_units == ["b.service"]


def test_a_look_changes_nothing(node, probation):
    assert commit.commit(dry=True)
    assert node.events == []


def test_a_committed_node_stays_as_it_is(node, probation):
    commit.commit()
    node.events.clear()
    assert not commit.commit()
    assert node.events == []


@pytest.mark.parametrize(
    "phase", ["prepared", "checkpointing", "switching", "returning", "fell_back", "aborted", "failed"]
)
def test_there_is_nothing_to_commit_in_another_phase(node, probation, phase):
    probation["PHASE"] = phase
    records.save(probation)
    node.events.clear()
    with pytest.raises(KupError, match=f"phase '{phase}' on kernel 7.2.1, expected 'probation'"):
        commit.commit()
    assert node.events == []


@pytest.mark.parametrize("phase", ["probation", "committed"])
def test_there_is_nothing_to_commit_on_another_kernel(node, probation, phase):
    probation["PHASE"] = phase
    records.save(probation)
    node.running.release = "6.12.1"
    with pytest.raises(KupError, match="nothing to commit"):
        commit.commit()


def test_memory_that_is_not_in_place_is_not_committed(node, probation, monkeypatch):
    def refuse():
        raise KupError("not in place yet")

    monkeypatch.setattr(commit.pending_memory, "refuse", refuse)
    with pytest.raises(KupError, match="not in place"):
        commit.commit()
    assert node.events == []
