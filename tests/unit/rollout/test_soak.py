# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Updated nodes soak before the next batch begins: the real playbook, with nodes of a table."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.rollout.nodes import Rollout

BREAKS = {"kup_gate soak": {"answer": {"failed": True, "msg": "memcached.service has ended."}}}
GONE = {"kup_gate soak": {"gone": True}}
NAMES = ("node1", "node2", "node3", "node4")

# Case → what the table has of nodes, and variables of the command line.
CASES = {
    # Seven seconds, of the canary alone.
    "good": ({}, {"kup_soak": "1", "kup_soak_node_hours": 0.002}),
    "breaks": ({"node1": BREAKS}, {"kup_soak": 1, "kup_max_failed": 3}),
    "gone": ({"node1": GONE}, {"kup_soak": 1, "kup_max_failed": 3}),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Dict case → how its run ended."""

    def run(case):
        nodes, variables = CASES[case]
        rollout = Rollout(tmp_path_factory.mktemp(case), {name: nodes.get(name, {}) for name in NAMES})
        given = {"kup_kernel": "7.2", "kup_units": ["memcached.service"], "kup_batches": [1, "100%"], **variables}
        lock = Path(locks) / case
        lock.mkdir()
        return rollout.run(kup_lock=str(lock), **given)

    # A file system of its own, so that a lock is good in a container, too.
    with tempfile.TemporaryDirectory(dir="/dev/shm") as locks, ThreadPoolExecutor(2) as pool:
        return dict(zip(CASES, pool.map(run, CASES), strict=True))


def about(done):
    return done.report["rollout"]


def test_the_next_batch_begins_after_the_soak(runs):
    done = runs["good"]
    assert (done.code, set(done.results.values()), about(done)["reason"]) == (0, {"committed"}, "")
    assert about(done)["batches"] == [["node1"], ["node2", "node3", "node4"]]
    assert "node2 waits: the nodes that were updated are to run until " in done.said
    # The first node of the batch judges before it is prepared for its switch, and goes ahead of the others.
    order = [
        done.asked.index(line)
        for line in (
            "node1 kup_switch start",
            "node1 kup_gate soak",
            "node2 kup_gate remember",
            "node2 kup_switch start",
        )
    ]
    assert order == sorted(order)
    assert set(done.switched()[:2]) == {"node1", "node2"}
    assert done.asked.count("node1 kup_gate soak") == 1


def test_the_lock_is_renewed_while_nodes_are_judged(runs):
    done = runs["good"]
    asks = "TASK [kup.fleet.kup : Let no other rollout go on meanwhile]"
    before, judging = done.output.split("TASK [kup.fleet.kup : Judge each of them]", 1)
    assert before.count(asks) == 1
    assert judging.split("TASK [kup.fleet.kup : Judge the node once more]", 1)[0].count(asks) == 1
    assert "is no longer of this run" not in done.said


@pytest.mark.parametrize(
    ("case", "why"), [("breaks", "memcached.service has ended."), ("gone", "node1 cannot be reached: ")]
)
def test_a_node_that_fails_in_the_soak_ends_the_rollout(runs, case, why):
    done = runs[case]
    assert done.switched() == ["node1"]
    assert done.results == {"node1": "committed", **dict.fromkeys(NAMES[1:], "untouched")}
    assert done.reason("node1").startswith(f"in the soak after its update: {why}")
    assert about(done)["reason"] == "node1 failed in the soak after its update (kup_soak)"
    assert (done.code, about(done)["result"], about(done)["failed"]) == (2, "stopped", ["node1"])
    assert "node2 kup_gate remember" not in done.asked
