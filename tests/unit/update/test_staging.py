# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Staging: what is preserved and proven before an update, and when nothing has to be done."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._blocker import Blocker
from ansible_collections.kup.fleet.plugins.module_utils._errors import EngineError, KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records
from ansible_collections.kup.fleet.plugins.module_utils._update import staging
from ansible_collections.kup.fleet.plugins.module_utils._update.record import Record

OLD, NEW = "6.12.1", "7.2.1"


@pytest.fixture(autouse=True)
def criu(monkeypatch):
    """A CRIU that fits every kernel but 7.3."""
    monkeypatch.setattr(staging.command, "version", lambda: "4.2")
    monkeypatch.setattr(
        staging,
        "criu_kernel",
        lambda version, kernel: [Blocker("criu-kernel", "It", "cannot", "no")] if kernel == "7.3" else [],
    )


def stage(node, target=NEW, owner="me", **settings):
    settings = {"ENGINE": "fake", "IMAGES": str(node.directory / "images"), **settings}
    return staging.stage(target, ["a.service", "b.service"], settings, initramfs="auto", owner=owner)


def is_staged(node, target=NEW, **settings):
    settings = {"ENGINE": "fake", "IMAGES": str(node.directory / "images"), **settings}
    return staging.is_staged(target, ["a.service", "b.service"], settings, owner="me")


def test_both_kernels_are_preserved_for_the_engine(node):
    assert stage(node)
    for kernel in (OLD, NEW):
        assert node.in_order(f"preserve {kernel} auto", f"prepare {kernel}", "record prepared")
    assert node.in_order(f"preserve {OLD} auto", "crash kernel files", "record prepared")


def test_the_old_kernel_is_the_boot_default_before_anything_else(node):
    stage(node)
    assert node.at(f"pin {OLD}") == 0


def test_both_kernels_are_proven_to_load_and_none_stays_loaded(node):
    stage(node)
    assert node.in_order(f"prove {OLD}", f"prove {NEW}", "unload", "record prepared")
    assert not node.kexec_loaded


def test_a_kernel_that_cannot_be_loaded_is_no_update(node):
    node.failing[f"prove {OLD}"] = KupError("refused")
    with pytest.raises(KupError, match="refused"):
        stage(node)
    assert not records.load()


def test_an_engine_that_cannot_be_prepared_is_told_from_other_refusals(node):
    node.failing[f"prepare {NEW}"] = KupError("the module cannot be built")
    with pytest.raises(EngineError, match="the module cannot be built"):
        stage(node)
    assert not records.load()


def test_the_record_has_what_the_node_needs_to_know(node):
    stage(node, ROUNDS_MAX="3")
    told = records.load()
    assert (told["PHASE"], told["KERNEL_OLD"], told["KERNEL_NEW"]) == ("prepared", OLD, NEW)
    assert (told.units, told["ENGINE"], told["ROUNDS_MAX"]) == (["a.service", "b.service"], "fake", "3")
    assert (told["PANIC"], told["CRASHKERNEL"], told["OWNER"]) == ("panic=0", "crashkernel=1K@0", "me")
    assert told["FIRST_PROCESS"] == "init=/usr/local/lib/kup/environment"
    assert told["ID"] and told["STARTED"] and told["OWNER_UNTIL"]


def test_other_kernels_are_not_kept(node):
    (node.directory / "kernels/6.1").mkdir()
    stage(node)
    assert sorted(path.name for path in (node.directory / "kernels").iterdir()) == [OLD, NEW]


def test_the_same_once_more_changes_nothing(node, monkeypatch):
    stage(node)
    first = records.load()
    node.events.clear()
    assert is_staged(node)
    assert not stage(node)
    assert not [event for event in node.events if event.startswith(("prove", "load"))]
    assert records.load()["ID"] == first["ID"]


def test_other_settings_are_another_update(node):
    stage(node)
    assert not is_staged(node, ROUNDS_MAX="9")
    assert stage(node, ROUNDS_MAX="9")
    assert records.load()["ROUNDS_MAX"] == "9"


def test_what_is_said_of_the_last_update_does_not_stay(node):
    (node.directory / "timeline").write_text("old")
    (node.directory / "panic_log").write_text("old")
    stage(node)
    assert not (node.directory / "panic_log").exists()
    assert (node.directory / "timeline").read_text() == ""


@pytest.mark.parametrize("phase", ["switching", "probation", "returning"])
@pytest.mark.parametrize("ask", [stage, is_staged])
def test_an_update_under_way_is_not_replaced(node, record, phase, ask):
    records.save(Record(record, PHASE=phase, OWNER="me"))
    node.events.clear()
    with pytest.raises(KupError, match=f"phase '{phase}'.*kup_fallback"):
        ask(node)
    assert node.events == []


def test_the_lease_of_another_run_is_respected(node, record):
    records.renew(record, "somebody else")
    records.save(record)
    node.events.clear()
    with pytest.raises(KupError, match="somebody else works on this node"):
        stage(node)
    assert node.events == []


def test_a_criu_that_does_not_fit_is_refused_before_anything_is_changed(node):
    with pytest.raises(KupError, match="It cannot"):
        stage(node, "7.3")
    assert node.events == []


def test_a_checkpoint_that_was_cut_off_is_removed_before_its_name_is_forgotten(node, record):
    images = node.directory / "images" / record["ID"]
    images.mkdir(parents=True)
    record["PHASE"] = "checkpointing"
    records.save(record)
    stage(node)
    assert not images.exists()
    assert node.in_order("record aborted", "release packets", "record prepared")


def test_a_sandbox_by_landlock_is_refused_before_anything_is_changed(node):
    node.sandboxed = True
    with pytest.raises(KupError, match=r"a\.service: process a\[100\] the process is in a Landlock sandbox"):
        stage(node)
    assert node.events == []
