# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The way back of a fleet: the real playbook kup_fallback, with nodes of a table."""

from __future__ import annotations

import atonce
import pytest

from tests.rollout.hooks import hooks
from tests.rollout.nodes import Rollout

UPDATED = {"state": {"kernel": "7.2.12-amd64", "phase": "committed"}}
ON_PROBATION = {"state": {"kernel": "7.2.12-amd64", "phase": "probation"}}
GONE = {
    **UPDATED,
    "kup_fallback start": {"answer": {"failed": True, "msg": "The old kernel is not preserved any more."}},
}
LOST = {**UPDATED, "kup_fallback start": {"gone": True}}
STATELESS = {**UPDATED, "kup_fallback start": {"phase": "failed"}}
RACKS = {
    "kup_domain": "{{ 'a' if inventory_hostname != 'node3' else 'b' }}",
    "kup_switch_timeout": 1,
    "kup_batch_success": 1,
}
DEAF = {**UPDATED, "kup_gate judge": {"answer": {"failed": True, "msg": "Port 11211 does not answer."}}}
ALL = ("-l", "all")
COMMITTED = {"kup_committed": True, "kup_batches": [1, "100%"]}
NEVER = "Mon 03:00-03:01"  # of which a minute in a week is no window

# Case → nodes, words of the command line, variables.
CASES = {
    "all": (
        {"node1": UPDATED, "node2": {}, "node3": ON_PROBATION, "node4": UPDATED, "node5": {"down": True}},
        ALL,
        {**COMMITTED, "kup_max_unreachable": 1, "kup_window": [NEVER], "kup_alerts": "http://127.0.0.1:9"},
    ),
    "on_probation": ({"node1": UPDATED, "node2": ON_PROBATION}, ALL, {}),
    "refused": ({"node1": GONE, "node2": UPDATED}, ALL, COMMITTED),
    "deaf": ({"node1": DEAF, "node2": UPDATED}, ALL, COMMITTED),
    # Both in one domain with node2.
    "lost": (
        {"node1": LOST, "node2": UPDATED, "node3": UPDATED},
        ALL,
        {**COMMITTED, **RACKS, "kup_max_failed": 1, "kup_batches": ["100%"]},
    ),
    "stateless": ({"node1": STATELESS, "node2": UPDATED}, ALL, {**COMMITTED, "kup_max_failed": 1}),
    "no_limit": ({"node1": UPDATED, "node2": UPDATED}, (), COMMITTED),
    "confirmed": ({"node1": UPDATED}, (), {**COMMITTED, "kup_fallback_all": True}),
    "check": ({"node1": UPDATED, "node2": {}}, (*ALL, "--check"), COMMITTED),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Dict case → how its run ended."""

    def run(case):
        nodes, words, variables = CASES[case]
        folder = tmp_path_factory.mktemp(case)
        told = {
            node: {
                "before_switch": f"echo {node} out >>$LOG",
                "after_node": f"echo {node} {{{{ kup_node_result }}}} >>$LOG",
            }
            for node in nodes
        }
        return Rollout(folder, nodes).run(*words, playbook="kup_fallback", kup_hooks=hooks(folder, told), **variables)

    return atonce.each(run, CASES)


def started(done):
    """Names of the nodes that were asked to go back, in order."""
    return [line.split()[0] for line in done.asked if line.endswith(" kup_fallback start")]


def test_committed_nodes_go_back_in_batches(runs):
    done = runs["all"]
    assert done.results == {
        "node1": "returned",
        "node2": "up_to_date",
        "node3": "returned",
        "node4": "returned",
        "node5": "lost",
    }
    assert (done.report["rollout"]["way"], done.report["rollout"]["result"]) == ("back", "partial")
    assert started(done)[0] == "node1"
    assert sorted(started(done)) == ["node1", "node3", "node4"]
    assert done.report["rollout"]["batches"] == [["node1"], ["node3", "node4"]]
    assert "node1: fell back, runs 6.12.1-amd64" in done.said
    row = next(row for row in done.report["nodes"] if row["name"] == "node1")
    assert (row["kernel_before"], row["kernel_after"], row["outage_s"]) == ("7.2.12-amd64", "6.12.1-amd64", 1.5)


def test_hooks_take_a_node_out_and_in(runs):
    asked = runs["all"].asked
    assert asked.index("node1 out") < asked.index("node1 kup_fallback start") < asked.index("node1 returned")
    assert "node2 out" not in asked


def test_a_rollout_that_keeps_others_away_does_not_keep_a_person_from_taking_nodes_back(runs):
    assert not [line for done in runs.values() for line in done.asked if "kup_claim" in line]


def test_neither_a_window_nor_an_alert_is_waited_for(runs):
    assert "node1" in started(runs["all"])
    assert "waits:" not in runs["all"].said


def test_only_nodes_on_probation_go_back_by_default(runs):
    assert runs["on_probation"].results == {"node1": "up_to_date", "node2": "returned"}
    assert runs["on_probation"].report["rollout"]["result"] == "returned"
    assert runs["on_probation"].code == 0


def test_a_canary_that_does_not_go_back_stops_the_others(runs):
    done = runs["refused"]
    assert done.code != 0
    assert done.results == {"node1": "failed", "node2": "untouched"}
    assert "The old kernel is not preserved any more." in done.reason("node1")
    assert started(done) == ["node1"]


def test_a_node_whose_application_does_not_answer_has_failed(runs):
    done = runs["deaf"]
    assert done.code != 0
    assert done.results == {"node1": "fell_back", "node2": "untouched"}
    assert "Port 11211 does not answer." in done.reason("node1")
    assert "node1 fell_back" in done.asked


def test_a_node_that_is_lost_on_its_way_keeps_others_of_its_domain_where_they_are(runs):
    done = runs["lost"]
    assert done.results == {"node1": "lost", "node2": "untouched", "node3": "returned"}
    assert started(done) in (["node1", "node3"], ["node3", "node1"])
    assert "node1 lost" in done.asked


def test_a_node_that_has_lost_its_state_is_told_to_whoever_puts_it_back(runs):
    done = runs["stateless"]
    assert done.results == {"node1": "failed", "node2": "untouched"}
    assert "The applications lost their state" in done.reason("node1")
    assert "node1 failed" in done.asked


def test_all_hosts_need_a_word_more(runs):
    done = runs["no_limit"]
    assert done.code != 0
    assert done.asked == []
    assert (
        "No limit was given, so that all 2 hosts would go back; name them by -l or kup_hosts, or say -e kup_fallback_all=true."
        in done.said
    )
    assert runs["confirmed"].results == {"node1": "returned"}


def test_a_check_only_says_what_would_be_done(runs):
    done = runs["check"]
    assert done.code == 0
    assert "node1: would go back from 7.2.12-amd64 to 6.12.1-amd64" in done.said
    assert "node2: nothing to undo, runs 6.12.1-amd64" in done.said
    assert started(done) == []
    assert done.report == {}
