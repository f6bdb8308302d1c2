# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The metrics of a rollout, and those that it leaves on a node."""

from __future__ import annotations

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._metrics import exposition, update
from ansible_collections.kup.fleet.plugins.modules import kup_textfile
from ansible_collections.kup.fleet.plugins.plugin_utils import _report, _rollout_metrics
from tests.exposition import parse

ROLLOUT = {"run_id": "20261127T020000-1a2b3c", "kernel": "7.2", "started": 1000.0}
ROWS = [
    {"name": "node1", "result": "committed", "outage_s": 32.5},
    {"name": 'no"de2', "result": "under_way", "outage_s": None},
    {"name": "node3", "result": "fell_back", "outage_s": 60},
    {"name": "node4"},
]


def metrics(report, now=1060.0):
    return parse(_rollout_metrics.text(report, now))


def test_a_rollout_that_runs():
    found = metrics(_report.merge({}, ROWS, ROLLOUT))
    counts = {labels[0][1]: value for labels, value in found["kup_rollout_nodes"].items()}
    assert set(counts) == set(_report.RESULTS)
    assert {result: count for result, count in counts.items() if count} == {
        **{"committed": 1.0, "under_way": 1.0, "fell_back": 1.0, "pending": 1.0}
    }
    assert found["kup_rollout_nodes_in_flight"] == {(): 1.0}
    assert found["kup_rollout_ended"] == {(): 0.0}
    assert found["kup_rollout_duration_seconds"] == {(): 60.0}
    assert found["kup_rollout_outage_seconds"] == {(("node", "node1"),): 32.5, (("node", "node3"),): 60.0}
    assert found["kup_rollout_info"] == {(("kernel", "7.2"), ("run_id", ROLLOUT["run_id"])): 1.0}


def test_one_that_has_ended():
    report = _report.close(_report.merge({}, ROWS, ROLLOUT), 1050.0)
    found = metrics(report)
    assert found["kup_rollout_nodes_in_flight"] == {(): 0.0}
    assert found["kup_rollout_ended"] == {(): 1.0}
    assert found["kup_rollout_duration_seconds"] == {(): 50.0}
    assert {labels[0][1] for labels, value in found["kup_rollout_result"].items() if value} == {"stopped"}


def test_one_of_which_little_is_known():
    assert "kup_rollout_duration_seconds" not in metrics(_report.merge({}, [], {"run_id": "x"}))


@pytest.mark.parametrize("result", update.RESULTS)
def test_the_last_update_of_a_node(result):
    about = {
        "result": result,
        "outage_s": 32.5,
        "kernel_before": "6.12",
        "kernel_after": "7.2",
        "engine": "foam",
        "run_id": "x",
    }
    (name,), (text,) = zip(*kup_textfile.files({"status": None, "update": about}).items(), strict=True)
    found = parse(text)
    assert name == "kup_update.prom"
    assert {labels[0][1] for labels, value in found["kup_last_update_result"].items() if value} == {result}
    assert len(found["kup_last_update_result"]) == len(update.RESULTS)
    assert found["kup_last_update_outage_seconds"] == {(): 32.5}
    assert found["kup_last_update_timestamp_seconds"][()] > 1.7e9


def test_an_update_without_outage():
    gauges = exposition.Gauges()
    update.add(gauges, {"result": "failed"}, 1000.0)
    assert "kup_last_update_outage_seconds" not in parse(gauges.text())


def test_results_are_those_of_reports():
    assert set(_report.RESULTS) - set(update.RESULTS) == {"pending", "under_way", "up_to_date", "untouched"}
