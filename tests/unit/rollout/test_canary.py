# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The first batch has to succeed before anything follows: the real playbook, with nodes of a table."""

from __future__ import annotations

import json
import sys

import atonce
import pytest

from tests.rollout.answers import NEW, OLD
from tests.rollout.nodes import Rollout

DOWN = {"down": True}
UP_TO_DATE = {"state": {"kernel": NEW}}
ON_PROBATION = {"state": {"kernel": NEW, "phase": "probation"}}
GATE_FAILS = {"kup_gate judge": {"answer": {"failed": True, "msg": "Port 11211 does not answer."}}}
LOST_IN_SWITCH = {"kup_switch start": {"gone": True}}
# What a survey's fields leave.
SURVEY = {"kup_units": "memcached.service\n", "kup_batches": "1\n100%", "kup_commit_timeout": "", "kup_gate_ports": ""}

# In this case a node is drained until another one of its batch has failed, and is on its way back.
WAIT = "until ! test {{ inventory_hostname }} = node2 || grep -q '^node1 kup_fallback start' LOG; do sleep 0.1; done"
SLOW = "spent_in_flight"
# Runs on the controller, as one that undoes a drain would.
HOOKS = {
    "before_switch": "drained",
    "after_node": "{{ kup_node_result }}",
}

# Case → nodes, and variables of the command line.
CASES = {
    "first_up_to_date": ([UP_TO_DATE, {}, {}], {}),
    "canary_fails": ([UP_TO_DATE, GATE_FAILS, {}], {"kup_max_failed": 5}),
    "first_down": ([DOWN, {}], {"kup_max_failed": 1}),
    "first_down_allowed": ([DOWN, {}], {"kup_max_unreachable": "50%", **SURVEY}),
    "lost_in_switch": ([LOST_IN_SWITCH, {}], {"kup_max_unreachable": "100%", "kup_switch_timeout": 1}),
    SLOW: ([GATE_FAILS, {}], {"kup_batches": ["100%"]}),
    "hook_fails": ([{}, {}], {"kup_max_failed": 1}),
    "resumed": ([DOWN, {}, ON_PROBATION], {}),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Dict case → how its run ended."""

    def run(case):
        nodes, variables = CASES[case]
        nodes = {f"node{number}": node for number, node in enumerate(nodes, 1)}
        folder = tmp_path_factory.mktemp(case)
        rollout = Rollout(folder, nodes)
        variables["kup_hooks"] = {name: hook(folder, name, word) for name, word in HOOKS.items()}
        return rollout.run(**{"kup_kernel": "7.2", "kup_units": ["memcached.service"], **variables})

    return atonce.each(run, CASES)


def hook(folder, name, word):
    """A file with a task that writes a line into the log of what nodes were asked for; it fails for one node of one case."""
    log = f"{folder}/nodes/log"
    wait = WAIT.replace("LOG", log) if name == "before_switch" and SLOW in folder.name else "true"
    task = {
        "ansible.builtin.shell": f"echo {{{{ inventory_hostname }}}} {word} >> {log}; {wait}",
        "delegate_to": "localhost",
        "vars": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable},
        "failed_when": f"inventory_hostname == 'node2' and {name == 'after_node' and 'hook_fails' in folder.name}",
    }
    path = folder / f"{name}.yml"
    path.write_text(json.dumps([task]))
    return str(path)


def about(done):
    return done.report["rollout"]


def test_a_node_that_is_up_to_date_is_no_canary(runs):
    done = runs["first_up_to_date"]
    assert done.results == {"node1": "up_to_date", "node2": "committed", "node3": "committed"}
    assert about(done)["batches"] == [["node2"], ["node3"]]
    assert (done.code, about(done)["result"], about(done)["reason"]) == (0, "committed", "")


def test_nothing_follows_before_the_canary_has_committed(runs):
    asked = runs["first_up_to_date"].asked
    committed = next(line for line in asked if line.startswith("node2 kup_commit"))
    assert asked.index(committed) < asked.index("node3 kup_gate remember") < asked.index("node3 kup_switch start")


def test_without_window_control_and_lock_nobody_is_asked_whether_a_node_may_begin(runs):
    # tests/unit/rollout/test_control.py has one in which somebody is.
    assert "tasks/permit.yml" not in runs["first_up_to_date"].output


def test_a_canary_that_fails_stops_the_rollout_whatever_may_fail(runs):
    done = runs["canary_fails"]
    assert done.switched() == ["node2"]
    assert done.results == {"node1": "up_to_date", "node2": "fell_back", "node3": "untouched"}
    assert about(done)["reason"] == "0 of batch 1 (node2) committed, kup_batch_success (50%) expects 1"
    assert "The rollout stopped: 0 of batch 1 (node2) committed" in done.said
    assert (done.code, about(done)["result"], about(done)["failed"]) == (2, "stopped", ["node2"])
    # What is known of a node whose turn does not come is in the report all the same.
    assert done.report["nodes"][2]["kernel_before"] == OLD


def test_a_node_that_is_down_is_none_that_failed(runs):
    done = runs["first_down"]
    assert done.switched() == []
    assert done.results == {"node1": "lost", "node2": "untouched"}
    assert about(done)["reason"] == "node1 could not be reached, kup_max_unreachable allows 0"
    assert (done.code, about(done)["failed"], about(done)["unreachable"]) == (2, [], ["node1"])


def test_with_a_node_down_that_may_be_the_next_one_is_the_canary(runs):
    done = runs["first_down_allowed"]
    assert done.results == {"node1": "lost", "node2": "committed"}
    assert about(done)["batches"] == [["node2"]]
    # The run fails for the node, and did not stop.
    assert (done.code, about(done)["result"], about(done)["reason"]) == (2, "partial", "")


def test_a_node_that_is_lost_in_its_switch_has_failed(runs):
    done = runs["lost_in_switch"]
    assert done.results == {"node1": "lost", "node2": "untouched"}
    assert about(done)["reason"] == "node1 failed, kup_max_failed allows 0"
    assert (about(done)["failed"], about(done)["unreachable"]) == (["node1"], [])


def test_a_node_is_not_switched_when_others_have_failed_since_its_turn_came(runs):
    done = runs["spent_in_flight"]
    assert "node2 drained" in done.asked
    assert done.switched() == ["node1"]
    assert done.results == {"node1": "fell_back", "node2": "untouched"}
    assert about(done)["reason"] == "node1 failed, kup_max_failed allows 0"


def test_every_node_whose_turn_came_is_put_back_into_service(runs):
    ends = {
        "canary_fails": {"node2": "fell_back"},
        "first_down": {},
        "lost_in_switch": {"node1": "lost"},
        "spent_in_flight": {"node1": "fell_back", "node2": "pending"},
        "resumed": {"node3": "committed"},
        "first_up_to_date": {"node2": "committed", "node3": "committed"},
    }
    for case, expected in ends.items():
        asked = runs[case].asked
        found = dict(line.split() for line in asked if line.split()[1:] and line.split()[1] in set(expected.values()))
        assert found == expected, (case, asked)
    # An update that was begun drained its node then.
    assert "node3 drained" not in runs["resumed"].asked


def test_no_other_rollout_gets_a_node_while_a_hook_takes_its_time(runs):
    for node in ("node2", "node3"):
        asked = [line for line in runs["first_up_to_date"].asked if line.startswith(node)]
        assert asked[asked.index(f"{node} drained") - 1] == f"{node} kup_claim"


def test_a_hook_that_fails_in_the_end_is_its_nodes_failure(runs):
    done = runs["hook_fails"]
    assert done.results == {"node1": "committed", "node2": "committed"}
    assert (done.code, about(done)["failed"]) == (2, ["node2"])
    reasons = {row["name"]: row["reason"] for row in done.report["nodes"]}
    assert reasons["node2"].startswith("kup_hooks.after_node: ")


def test_an_update_that_was_begun_is_finished_though_the_rollout_has_stopped(runs):
    done = runs["resumed"]
    assert about(done)["batches"] == [["node3"], ["node2"]]
    assert done.results == {"node1": "lost", "node2": "untouched", "node3": "committed"}
    # It is on the new kernel already.
    assert done.switched() == []


def test_the_nodes_that_were_left_alone_are_released(runs):
    for case in ("canary_fails", "first_down", "spent_in_flight"):
        untouched = next(name for name, result in runs[case].results.items() if result == "untouched")
        assert f"{untouched} kup_commit released" in runs[case].asked
