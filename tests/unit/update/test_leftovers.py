# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an update leaves is removed when its time has come or when somebody asks for it, and not before."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import leftovers
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records
from ansible_collections.kup.fleet.plugins.module_utils._update.record import Record

LEFT = ["images", "images/somebody-else", "record", "run", "run/lock"]
IMAGES = "images/20260101T000000"


@pytest.fixture
def left(node, record):
    """The record of an update that fell back, on a node with all that an update can leave."""
    for directory in ("boot/1", f"{IMAGES}/1-a.service", "images/somebody-else", "rehearsal_images"):
        (node.directory / directory).mkdir(parents=True)
    for file in ("rehearsals", "memory", "numbers", "checks", "panic_log", "record", "run/decision", "run/lock"):
        (node.directory / file).write_text("")
    (node.directory / "record.copy").unlink()
    return Record(record, PHASE="fell_back")


def names(node):
    return sorted(str(path.relative_to(node.directory)) for path in node.directory.rglob("*"))


@pytest.mark.parametrize("phase", ["committed", "fell_back", "aborted"])
def test_a_finished_update_is_cleaned_up(node, left, phase):
    left["PHASE"] = phase
    before = set(names(node))
    assert leftovers.clean_up(left)
    assert before - set(names(node)) == {
        *("boot", "boot/1", IMAGES, f"{IMAGES}/1-a.service", "rehearsal_images", "run/decision")
    }
    assert node.in_order("release packets", "give up", "systemctl daemon-reload")
    assert ("unload" in node.events) == (phase != "committed")  # after a commit somebody else may have loaded a kernel


def test_a_clean_node_is_left_alone(node, left):
    leftovers.clean_up(left)
    node.events.clear()
    assert not leftovers.clean_up(left)
    assert node.events == []


@pytest.mark.parametrize("path", ["boot", IMAGES, "rehearsal_images", "run/decision"])
def test_each_leftover_is_a_reason_to_clean_up(node, record, path):
    record["PHASE"], node.kexec_loaded = "fell_back", False
    assert not leftovers.clean_up(record, dry=True)
    (node.directory / path).mkdir(parents=True)
    assert leftovers.clean_up(record, dry=True)


def test_configuration_in_run_is_a_reason_to_clean_up_and_goes(node, record):
    record["PHASE"], node.kexec_loaded, node.configuration = "fell_back", False, ["/run/sysctl.d/zzz-kup.conf"]
    assert leftovers.clean_up(record)
    # systemd reads again what is left of drop-ins.
    assert node.in_order("remove configuration in /run", "systemctl daemon-reload")


def test_a_loaded_kernel_is_a_reason_to_clean_up(node, record):
    record["PHASE"] = "aborted"
    assert leftovers.clean_up(record)
    assert node.events[0:3] == ["release packets", "release peers", "unload"]


@pytest.mark.parametrize("remove", [leftovers.clean_up, leftovers.uninstall])
def test_a_look_removes_nothing(node, left, remove):
    before = names(node)
    assert remove(left, dry=True)
    assert names(node) == before
    assert node.events == []


@pytest.mark.parametrize("phase", ["prepared", "checkpointing", "switching", "probation", "returning", "failed"])
def test_images_that_may_still_be_needed_stay(node, left, phase):
    left["PHASE"] = phase
    before = names(node)
    with pytest.raises(KupError, match=f"phase '{phase}'"):
        leftovers.clean_up(left)
    assert names(node) == before


@pytest.mark.parametrize("remove", [leftovers.clean_up, leftovers.uninstall])
def test_images_that_pages_are_still_read_from_stay(node, left, monkeypatch, remove):
    def refuse():
        raise KupError("not in place yet")

    monkeypatch.setattr(leftovers.pending_memory, "refuse", refuse)
    before = names(node)
    with pytest.raises(KupError, match="not in place yet"):
        remove(left)
    assert names(node) == before


@pytest.mark.parametrize("phase", ["failed", "fell_back", "committed"])
def test_what_a_finished_update_keeps_is_removed_when_asked_for(node, left, phase):
    left["PHASE"] = phase
    assert leftovers.uninstall(left)
    assert names(node) == LEFT
    assert not leftovers.uninstall(left)


@pytest.mark.parametrize("phase", ["prepared", "checkpointing"])
def test_an_update_that_did_not_come_to_its_switch_is_ended(node, left, phase):
    left["PHASE"] = phase
    assert leftovers.uninstall(left)
    assert records.load()["PHASE"] == "aborted"
    assert node.in_order("record aborted", "unload", "give up")
    assert names(node) == sorted([*LEFT, "record.copy"])


@pytest.mark.parametrize("phase", ["switching", "probation", "returning"])
def test_an_update_under_way_is_left_alone(node, left, phase):
    before = names(node)
    with pytest.raises(KupError, match=f"phase '{phase}'.*kup_fallback"):
        leftovers.uninstall(Record(left, PHASE=phase))
    assert names(node) == before


def test_a_node_without_an_update_has_nothing(node, tmp_path, monkeypatch):
    for name in ("KERNELS", "BOOT", "MEMORY", "NUMBERS", "CHECKS", "PANIC_LOG", "RUN"):
        monkeypatch.setattr(leftovers, name, str(tmp_path / "nothing"))
    assert not leftovers.uninstall(Record())
