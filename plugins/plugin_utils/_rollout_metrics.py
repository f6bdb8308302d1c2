# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rollout as metrics for Prometheus, from its report."""

from __future__ import annotations

from ansible_collections.kup.fleet.plugins.module_utils._metrics import exposition
from ansible_collections.kup.fleet.plugins.plugin_utils import _report

_NODE = 0.001  # seconds; reading the row of a node takes a tenth of that


def pace(rows):
    """Seconds between two files of a rollout that runs and has so many rows: all of them are read for each."""
    return rows * _NODE


def text(report, now):
    """The content of a file.

    :param report: see `_report.merge`.
    :param now: Unix time.
    """
    about, nodes = report["rollout"], report["nodes"]
    gauges = exposition.Gauges()
    gauges.add(
        "kup_rollout_info", "The rollout that began last.", 1, run_id=about["run_id"], kernel=about.get("kernel") or ""
    )
    gauges.add_states("kup_rollout_result", "Result of the rollout.", "result", _report.OUTCOMES, about["result"])
    results = [node["result"] for node in nodes]
    for result in _report.RESULTS:
        gauges.add("kup_rollout_nodes", "Nodes of the rollout by result.", results.count(result), result=result)
    gauges.add("kup_rollout_nodes_in_flight", "Nodes that are being updated.", results.count("under_way"))
    gauges.add("kup_rollout_ended", "Whether the rollout is at its end.", _report.is_closed(report))
    _add_times(gauges, about, now)
    for node in nodes:
        meaning = "Outage of the services of a node in the rollout."
        gauges.add("kup_rollout_outage_seconds", meaning, node.get("outage_s"), node=node["name"])
    return gauges.text()


def _add_times(gauges, about, now):
    started = about.get("started")
    duration = about.get("wall_s", None if started is None else round(now - started, 3))
    gauges.add("kup_rollout_start_timestamp_seconds", "When the rollout began, in Unix time.", started)
    gauges.add("kup_rollout_duration_seconds", "How long the rollout took, or takes so far.", duration)
    gauges.add("kup_rollout_timestamp_seconds", "When these metrics were written, in Unix time.", round(now, 3))
