# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Updated nodes are judged by metrics in the soak: the real playbook, with nodes of a table and a Prometheus on loopback."""

from __future__ import annotations

import random
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.rollout.nodes import Rollout
from tests.rollout.prometheus import Range, serving

NAMES = ("node1", "node2", "node3")
ERRORS = {"name": "errors", "query": 'rate(errors_total{instance="$instance"}[5s])', "direction": "increase"}
OF_PORT = {"kup_judge_instance": "{{ inventory_hostname }}:9100"}

# Case → variables of the command line, and the mean of the metric by node: now, and before.
CASES = {
    "good": (OF_PORT, {}, {}),
    "worse": ({}, {"node1": 5.0}, {}),
    # Without a value now.
    "missing": ({}, {"node1": None}, {}),
    # No node is left that has not been updated.
    "before": ({"kup_batches": ["100%"]}, {}, {"node2": 0.1}),
}


def answering(now, before):
    """Function of a path: nodes have values around 1, or around what these say by node."""

    ends = [0.0]

    def answer(path):
        asked = Range.of(path)
        # Of a soak its own values are asked for first.
        ends.append(max(ends[-1], asked.end))
        node = re.search(r'"(\w+)(?::9100)?"', asked.query)[1]
        mean = (now if asked.end == ends[-1] else before).get(node, 1.0)
        chance = random.Random(node)
        return asked.says() if mean is None else asked.says(lambda _at: mean + chance.uniform(0, 0.2))

    return answer


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Dict case → (how its run ended, queries)."""

    def run(case):
        variables, now, before = CASES[case]
        folder = tmp_path_factory.mktemp(case)
        given = {"kup_kernel": "7.2", "kup_units": ["memcached.service"], "kup_batches": [1, "100%"]}
        judged = {"kup_soak": 8, "kup_judge": [ERRORS], "kup_judge_interval": 1}
        with serving(answering(now, before)) as server:
            done = Rollout(folder, dict.fromkeys(NAMES, {})).run(
                **{**given, **judged, "kup_judge_prometheus": server.address, **variables}
            )
        return done, [Range.of(path) for path, _authorization in server.asked]

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(CASES, pool.map(run, CASES), strict=True))


def about(done):
    return done.report["rollout"]


def test_nodes_that_are_no_worse_are_judged_against_the_others_and_in_the_end_against_themselves(runs):
    done, queries = runs["good"]
    assert (done.code, about(done)["reason"], set(done.results.values())) == (0, "", {"committed"})
    assert [(each["verdict"], each["control"]) for each in about(done)["judged"]] == [
        ("pass", "others"),
        ("pass", "before"),
    ]
    assert {each.query for each in queries} == {f'rate(errors_total{{instance="{name}:9100"}}[5s])' for name in NAMES}
    # The one of the plan, three in the soak, and two for each of three nodes in the end.
    assert len(queries) == 1 + 3 + 6
    assert all(each.end - each.start >= 7.9 and each.step == 1 for each in queries)
    assert "judgement: kup_judge (http://127.0.0.1:" in done.said
    assert done.plan["judgement"]["counts"] == {"errors": 9}
    # All nodes are judged once more by their services, too.
    assert done.asked.count("node3 kup_gate soak") == 1


def test_a_canary_that_is_worse_ends_the_rollout(runs):
    done, _queries = runs["worse"]
    assert done.switched() == ["node1"]
    assert done.results == {"node1": "committed", "node2": "untouched", "node3": "untouched"}
    assert re.fullmatch(
        r"in the soak after its update: errors is higher than on 2 nodes not updated yet: median 5\.\d+ instead of 1\.\d+, "
        r"shift [34]\.\d+ \(98 % interval [34]\.\d+ to 4\.\d+, p [\d.e-]+\)\.",
        done.reason("node1"),
    )
    assert about(done)["reason"] == "node1 failed in the soak after its update (kup_soak)"
    assert (done.code, about(done)["result"], about(done)["failed"]) == (2, "stopped", ["node1"])
    assert [each["verdict"] for each in about(done)["judged"]] == ["high"]


def test_a_metric_without_values_stops_the_rollout_and_no_node_has_failed(runs):
    done, _queries = runs["missing"]
    assert done.switched() == ["node1"]
    assert about(done)["reason"].endswith("): errors has no values of node1 in the soak")
    assert (done.code, about(done)["result"], about(done)["failed"]) == (0, "stopped", [])
    assert "errors has no values of node1" in done.plan["judgement"]["reason"]


def test_nodes_that_are_worse_than_before_have_failed_after_the_last_batch(runs):
    done, _queries = runs["before"]
    assert set(done.results.values()) == {"committed"}
    assert "errors is higher than before the update: median 1." in done.reason("node2")
    assert (done.code, about(done)["failed"]) == (2, ["node2"])
    assert about(done)["reason"] == "node2 failed in the soak after its update (kup_soak)"
