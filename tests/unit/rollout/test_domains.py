# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes of a failure domain are not away at once: the real playbook, with nodes of a table."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.rollout.nodes import Rollout

# Nodes that the racks have in the order of the inventory.
RACKS = {"r1": ["a1", "a2"], "r2": ["b1", "b2"], "r3": ["c1"]}
TEMPLATE = "{{ 'rack ' ~ rack }}"
LOST = {"kup_switch start": {"gone": True}}
# No node of a wave ends before the others of its wave have begun.
TOGETHER = {
    "a1": {"kup_gate judge": {"after": "b1 kup_switch start"}},
    "b1": {"kup_gate judge": {"after": "c1 kup_switch start"}},
}
SMALL = {"kup_batches": ["100%"], "kup_switch_timeout": 1}

# Case → what the table has of nodes, and variables of the command line.
CASES = {
    "racks": (TOGETHER, {"kup_batches": ["100%"]}),
    "rack_by_rack": (
        {"a1": {"kup_gate judge": {"after": "a2 kup_switch start"}}},
        {"kup_batches": ["60%", "100%"], "kup_domain_order": "one_at_a_time", "kup_domain_parallel": "100%"},
    ),
    # The first node's rack-mate would be the canary.
    "down": ({"a1": {"down": True}}, {"kup_max_unreachable": 1}),
    # One fork: a2 is left alone, and has left its play, before b2 asks.
    "left_alone": ({"a1": LOST}, {**SMALL, "kup_max_failed": 1, "kup_batch_success": 1}),
    "lost": ({"a1": LOST}, {**SMALL, "kup_max_failed": 1, "kup_batch_success": 1}),
}


def racks(folder, nodes, racks=None):
    racks = racks or RACKS
    groups = {name: {"hosts": hosts, "vars": {"rack": name[1:]}} for name, hosts in racks.items()}
    return Rollout(folder, {host: nodes.get(host, {}) for hosts in racks.values() for host in hosts}, groups)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Dict case → how its run ended."""

    def run(case):
        nodes, variables = CASES[case]
        given = {"kup_kernel": "7.2", "kup_units": ["memcached.service"], "kup_domain": TEMPLATE, **variables}
        words = ["--forks", "1"] if case == "left_alone" else []
        return racks(tmp_path_factory.mktemp(case), nodes).run(*words, **given)

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(CASES, pool.map(run, CASES), strict=True))


def position(done, line):
    return done.asked.index(line)


def test_a_batch_with_two_nodes_of_a_rack_never_has_both_away(runs):
    done = runs["racks"]
    assert (done.code, set(done.results.values())) == (0, {"committed"})
    assert done.report["rollout"]["batches"] == [["a1", "b1", "c1", "a2", "b2"]]
    assert set(done.switched()[:3]) == {"a1", "b1", "c1"}
    for first, second in (("a1", "a2"), ("b1", "b2")):
        ended = next(number for number, line in enumerate(done.asked) if line.startswith(f"{first} kup_commit"))
        assert ended < position(done, f"{second} kup_gate remember")


def test_the_plan_says_domain_and_wave(runs):
    rows = {row["name"]: (row["batch"], row["wave"], row["domain"]) for row in runs["racks"].plan["nodes"]}
    assert (rows["a1"], rows["a2"], rows["c1"]) == ((1, 1, "rack 1"), (1, 2, "rack 1"), (1, 1, "rack 3"))
    assert "node batch wave domain kernel -> target" in runs["racks"].said


def test_a_rack_is_finished_before_the_next_one_begins(runs):
    done = runs["rack_by_rack"]
    assert (done.code, set(done.results.values())) == (0, {"committed"})
    assert [node[0] for node in done.switched()] == ["a", "a", "b", "b", "c"]
    assert done.report["rollout"]["batches"] == [["a1", "a2", "b1"], ["b2", "c1"]]
    assert [row["wave"] for row in done.plan["nodes"]] == [1, 1, 2, 3, 4]


def test_a_rack_with_a_node_that_is_down_has_no_canary(runs):
    done = runs["down"]
    assert done.results == {"a1": "lost", "a2": "untouched", "b1": "committed", "b2": "committed", "c1": "committed"}
    assert done.report["rollout"]["batches"] == [["b1"], ["c1"], ["b2", "a2"]]


@pytest.mark.parametrize("case", ["lost", "left_alone"])
def test_a_rack_with_a_lost_node_is_left_alone_and_the_others_are_updated(runs, case):
    done = runs[case]
    assert done.results == {"a1": "lost", "a2": "untouched", "b1": "committed", "b2": "committed", "c1": "committed"}
    reason = "a1 is out of service, and kup_domain_parallel (1) lets no further node of the domain rack 1 begin"
    assert done.report["rollout"]["reason"] == reason
    assert "a2 kup_commit released" in done.asked


def test_domains_that_are_no_text_or_not_there_are_refused_before_any_node_is_asked(tmp_path):
    groups = {"good": ["a1"], "number": ["b1"], "empty": ["c1"], "undefined": ["d1"]}
    rollout = racks(tmp_path, {}, groups)
    values = "{{ {'good': 'r1', 'number': 7, 'empty': ''}[group_names[0]] }}"
    done = rollout.run(kup_kernel="7.2", kup_units=["memcached.service"], kup_domain=values)
    assert (done.asked, done.report) == ([], {})
    said = done.said.replace("''", "'")
    assert "b1: kup_domain is 7, expected a text on one line" in said
    assert "c1: kup_domain is empty, and 'r1' on a1; expected a domain for each node" in said
    assert "d1: kup_domain cannot be evaluated" in said
