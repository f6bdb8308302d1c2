# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No node begins while an alert is firing: the real playbook, with nodes of a table and a Prometheus on loopback."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.rollout.answers import NEW
from tests.rollout.hooks import hooks
from tests.rollout.nodes import Rollout
from tests.rollout.prometheus import alert, says, serving

ON_PROBATION = {"state": {"kernel": NEW, "phase": "probation"}}
FIRE = "echo HighErrorRate >$ALERTS; echo node1 alerted >>$LOG"

# Case → nodes, shell commands of hooks by node, and variables of the command line. $ALERTS has the names of alerts that are firing.
CASES = {
    # An alert begins while node 1 is on probation, and never ends.
    "stopped": ({"node1": {}, "node2": {}}, {"node1": {"after_switch": FIRE}}, {"kup_alerts_patience": 1}),
    # It begins after node 2 was drained, and ends while node 2 waits for its switch.
    "resolved": (
        {"node1": {}, "node2": {}},
        {"node2": {"before_switch": f"{FIRE}; (sleep 15; echo >$ALERTS) >/dev/null 2>&1 &"}},
        {"kup_alerts_patience": 600},
    ),
    # Nobody answers from the beginning; what was begun is finished.
    "down": (
        {"node1": {}, "node2": ON_PROBATION},
        {},
        {"kup_alerts": "http://127.0.0.1:1", "kup_alerts_ignore": [".*"], "kup_alerts_patience": "0"},
    ),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Dict case → how its run ended."""

    def run(case):
        nodes, commands, variables = CASES[case]
        folder = tmp_path_factory.mktemp(case)
        file = folder / "alerts"
        file.write_text("")

        def answer(_path):
            return says(alert("Watchdog"), *(alert(name, severity="critical") for name in file.read_text().split()))

        given = {"kup_kernel": "7.2", "kup_units": ["memcached.service"], "kup_hooks": hooks(folder, commands)}
        with serving(answer) as server:
            return Rollout(folder, nodes).run(
                **{**given, "kup_alerts": server.address, "kup_alerts_ignore": ["Watchdog"], **variables}
            )

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(CASES, pool.map(run, CASES), strict=True))


def about(done):
    return done.report["rollout"]


def test_an_alert_that_does_not_end_stops_the_rollout_and_the_node_under_way_is_finished(runs):
    done = runs["stopped"]
    assert "node1 alerted" in done.asked
    assert done.switched() == ["node1"]
    assert done.results == {"node1": "committed", "node2": "untouched"}
    assert about(done)["reason"].endswith("): the alert HighErrorRate is firing; kup_alerts_patience is 1 s")
    assert (done.code, about(done)["result"], about(done)["failed"]) == (0, "stopped", [])
    assert "node2 kup_commit released" in done.asked


def test_a_node_waits_for_the_end_of_an_alert(runs):
    done = runs["resolved"]
    assert done.results == {"node1": "committed", "node2": "committed"}
    assert (done.code, about(done)["reason"]) == (0, "")
    assert "node2 waits: kup_alerts (http://127.0.0.1:" in done.said
    assert "the alert HighErrorRate is firing." in done.said


def test_without_an_answer_no_node_is_switched(runs):
    done = runs["down"]
    assert done.switched() == []
    assert done.results == {"node1": "untouched", "node2": "committed"}
    assert "cannot be asked (" in about(done)["reason"]


def test_the_plan_says_what_prometheus_says(runs):
    assert "): none is firing" in runs["stopped"].said
    assert runs["stopped"].plan["alerts"]["firing"] == []
    assert "cannot be asked" in runs["down"].plan["alerts"]["reason"]
