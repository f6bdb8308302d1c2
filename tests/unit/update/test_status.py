# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a node says of itself when it is asked for its status."""

from __future__ import annotations

import json
import os

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import kernels
from ansible_collections.kup.fleet.plugins.module_utils._drain import record as drain_record
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._metrics import exposition
from ansible_collections.kup.fleet.plugins.module_utils._metrics import status as metrics
from ansible_collections.kup.fleet.plugins.module_utils._system import (
    distribution,
    microcode,
    outdated,
    reboot_required,
)
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records
from ansible_collections.kup.fleet.plugins.module_utils._update import status
from tests.exposition import parse

RUNNING, NEWER, NEWEST = "7.2.9+deb13-amd64", "7.2.11+deb13-amd64", "7.2.12+deb13-amd64"


@pytest.fixture
def has(monkeypatch):
    """Sets the kernels of the node: installed, and in its package lists."""

    def has(installed, available):
        monkeypatch.setattr(kernels, "running", lambda: RUNNING)
        monkeypatch.setattr(kernels, "installed", lambda: sorted(installed, key=kernels.order))
        monkeypatch.setattr(kernels, "package", lambda selector: available and f"linux-image-{available}")

    return has


@pytest.mark.parametrize(
    ("installed", "available", "target", "is_needed"),
    [
        ([RUNNING], RUNNING, RUNNING, False),
        ([RUNNING], NEWEST, NEWEST, True),
        ([RUNNING, NEWER], NEWEST, NEWEST, True),
        # Package lists that are older than what is installed.
        ([RUNNING, NEWEST], NEWER, NEWEST, True),
        ([RUNNING, NEWER], None, NEWER, True),
        ([], NEWER, NEWER, True),
        ([], None, "", None),
    ],
)
def test_the_newer_of_what_is_installed_and_available_is_wanted(has, installed, available, target, is_needed):
    has(installed, available)
    found = status.of_kernels("7.2")
    assert (found["running"], found["target"], found["needs_update"]) == (RUNNING, target, is_needed)
    assert (found["available"], found["installed"]) == (available or "", (installed or [""])[-1])
    assert found["uptime_s"] > 0


@pytest.mark.parametrize(
    ("version", "built"),
    [
        ("#1 SMP PREEMPT_DYNAMIC Debian 6.1.106-3 (2024-08-26)", 1724630400.0),
        ("#45-Ubuntu SMP PREEMPT_DYNAMIC Fri Aug 30 12:02:04 UTC 2024", 1725019324.0),
        ("#1 SMP PREEMPT_DYNAMIC @0", None),
        ("", None),
    ],
)
def test_the_date_of_the_build(version, built):
    assert status.built(version) == built


def test_a_date_that_is_none_is_not_known():
    assert status.built("#1 SMP (2024-13-41)") is None


@pytest.fixture
def found(node, record, has, monkeypatch, tmp_path):
    """Looks at a node with something of everything."""
    has([RUNNING], NEWEST)
    monkeypatch.setattr(distribution, "look", lambda: distribution.Distribution("debian", "13", "Debian 13"))
    units = [{"unit": "nginx.service", "count": 2, "files": ["libc.so.6", "libssl.so.3"]}]
    monkeypatch.setattr(outdated, "find", lambda: outdated.Found(units, True))
    monkeypatch.setattr(drain_record, "load", lambda: drain_record.Drained(("haproxy lb1 cache/node1",), ""))
    reboot = {"required": True, "packages": ["intel-microcode"], "microcode": True}
    monkeypatch.setattr(reboot_required, "look", lambda: reboot)
    newer = {"running": "0x1", "available": "0x2", "is_newer": True}
    monkeypatch.setattr(microcode, "look", lambda: newer)
    monkeypatch.setattr(status, "KERNELS", str(tmp_path / "kernels"))
    monkeypatch.setattr(status, "PANIC_LOG", str(tmp_path / "panic_log"))
    node.kexec_loaded = False

    def look(phase):
        records.save(records.Record(record, PHASE=phase, REASON="because"))
        return status.gather("7.2")

    return look


def test_everything_that_is_asked_for_is_there(found):
    look = found("fell_back")
    assert look["last_update"]["phase"] == "fell_back"
    assert look["last_update"]["reason"] == "because"
    assert look["drained"] == ["haproxy lb1 cache/node1"]
    assert look["libraries"]["units"][0]["unit"] == "nginx.service"
    assert look["reboot"]["microcode"] and look["microcode"]["is_newer"]
    assert look["distribution"] == {"name": "Debian 13", "refusal": ""}
    assert json.loads(json.dumps(look)) == look


@pytest.mark.parametrize(("goes_on", "is_needed"), [(False, None), (True, True)])
def test_of_another_distribution_nothing_is_known_unless_somebody_goes_on(found, monkeypatch, goes_on, is_needed):
    found("committed")
    monkeypatch.setattr(distribution, "look", lambda: distribution.Distribution("rocky", "9.4", "Rocky\x1b 9.4"))
    look = status.gather("7.2", goes_on)
    assert look["kernel"]["needs_update"] is is_needed
    assert look["distribution"]["name"] == r"Rocky\x1b 9.4"
    assert (
        look["distribution"]["refusal"].startswith(r"The distribution Rocky\x1b 9.4 is one on which nobody") != goes_on
    )


@pytest.mark.parametrize(
    ("phase", "has_boot_plan"), [("committed", True), ("fell_back", True), ("probation", False), ("failed", False)]
)
def test_only_a_finished_update_leaves_what_nothing_needs(found, node, phase, has_boot_plan):
    (node.directory / "boot").mkdir()
    (node.directory / "panic_log").write_text("BUG: ...")
    left = {os.path.basename(path) for path in found(phase)["leftovers"]}
    assert left == {"panic_log", *(["boot"] if has_boot_plan else [])}


def test_a_loaded_kernel_is_a_leftover(found, node):
    node.kexec_loaded = True
    assert found("committed")["leftovers"] == ["a loaded kernel"]
    assert found("prepared")["leftovers"] == []


def test_looking_changes_nothing(found, node):
    found("fell_back")
    before = {path: path.stat().st_mtime_ns for path in node.directory.rglob("*")}
    node.events.clear()
    status.gather("7.2")
    assert {path: path.stat().st_mtime_ns for path in node.directory.rglob("*")} == before
    assert node.events == []


def test_a_selector_that_means_nothing_is_refused(found):
    with pytest.raises(KupError, match="^kup_kernel is 'lates', expected"):
        status.gather("lates")


def test_metrics(found):
    gauges = exposition.Gauges()
    look = found("probation")
    metrics.add(
        gauges, {**look, "livepatches": [{"name": "lkp_a", "enabled": True, "transition": False}]}, records.PHASES
    )
    read = parse(gauges.text())
    releases = {"running": RUNNING, "installed": RUNNING, "available": NEWEST, "target": NEWEST}
    assert read["kup_kernel_info"] == {tuple(sorted(releases.items())): 1.0}
    assert (
        read["kup_update_needed"] == read["kup_reboot_required"] == read["kup_microcode_reboot_required"] == {(): 1.0}
    )
    assert {labels[0][1] for labels, value in read["kup_phase"].items() if value} == {"probation"}
    assert len(read["kup_phase"]) == len(records.PHASES) + 1
    assert read["kup_unit_outdated_files"] == {(("unit", "nginx.service"),): 2.0}
    assert read["kup_livepatch_enabled"] == {(("patch", "lkp_a"),): 1.0}
    started = read["kup_kernel_start_timestamp_seconds"][()]
    assert abs(look["looked"] - look["kernel"]["uptime_s"] - started) < 0.01


def test_what_is_not_known_has_no_metric(found, has):
    look = found("committed")
    has([], None)
    gauges = exposition.Gauges()
    metrics.add(gauges, {**look, "kernel": status.of_kernels("7.2") | {"built": None}}, records.PHASES)
    assert not {"kup_update_needed", "kup_kernel_build_timestamp_seconds"} & set(parse(gauges.text()))
