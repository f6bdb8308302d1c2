# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wrong with one group is found before any node is asked for anything: the real playbook, with nodes of a table."""

from __future__ import annotations

import atonce
import pytest

from tests.rollout.answers import NEW, OLD
from tests.rollout.nodes import Rollout

LEASED = {"name": "memcached", "lease_s": 0}
GOOD = {"kup_kernel": "7.2", "kup_units": ["memcached.service"]}
WRONG = {
    "no_units": {"kup_kernel": "7.2"},
    "lease": {**GOOD, "kup_units": [LEASED]},
    "numbers": {**GOOD, "kup_kernel": 6.1, "kup_gate_ports": {"a": 1}},
    "evaluated": {**GOOD, "kup_images_dir": "{{ not_there }}/images", "kup_engine": "{{ 'mag' ~ 'ic' }}"},
    "window": {**GOOD, "kup_window": ["Sam 02:00-04:00"], "kup_window_zone": "Berlin"},
}


OLDER = "7.2.9-amd64"


def check(folder):
    """A run in check mode, with a node of older package lists, one that is up to date and one that does not answer."""
    nodes = {
        "node1": {},
        "node2": {"kup_preflight": {"answer": {"target": OLDER, "release": OLDER}}},
        "node3": {"state": {"kernel": NEW}},
        "node4": {"down": True},
    }
    return Rollout(folder, nodes).run("--check", **GOOD)


def refuse(folder):
    """A run with a good group and, for each of `WRONG`, a group of this name with one node."""
    groups = {"good": {"hosts": ["node1", "node2"], "vars": GOOD}}
    groups |= {name: {"hosts": [f"{name}1"], "vars": variables} for name, variables in WRONG.items()}
    nodes = {host: {} for group in groups.values() for host in group["hosts"]}
    return Rollout(folder, nodes, groups).run()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return atonce.each(lambda run: run(tmp_path_factory.mktemp(run.__name__)), (check, refuse))


@pytest.fixture(scope="module")
def checked(runs):
    return runs[check]


@pytest.fixture(scope="module")
def refused(runs):
    return runs[refuse]


def test_nodes_with_older_package_lists_are_refused(checked):
    assert f"node2: kup_kernel 7.2 is {OLDER} here, expected {NEW} as on node1; run apt-get update" in checked.said
    assert checked.code != 0


def test_a_check_ends_with_the_plan_of_all_nodes(checked):
    assert [(row["name"], row["verdict"], row["batch"]) for row in checked.plan["nodes"]] == [
        ("node1", "update", 1),
        ("node2", "refused", None),
        ("node3", "up_to_date", None),
        ("node4", "unreachable", None),
    ]
    assert f"node1: would go from {OLD} to {NEW} with memcached.service" in checked.said
    assert "plan: 1 update, 1 up to date, 1 refused, 1 unreachable" in checked.said
    assert f"node1 1 {OLD} -> {NEW} foam 64 MiB 11 s memcached.service" in checked.said


def test_a_check_asks_nodes_for_nothing_else(checked):
    assert {line.split()[1] for line in checked.asked} <= {"kup_preflight", "kup_rehearse"}
    assert checked.report == {}


def test_no_node_is_asked_for_anything(refused):
    assert refused.code != 0
    assert refused.asked == []
    assert refused.report == {}


@pytest.mark.parametrize(
    "sentence",
    [
        "no_units1: kup_units is [], expected a list of at least one service",
        "numbers1: kup_kernel is 6.1, expected a text; quote it",
        "numbers1: kup_gate_ports is {'a': 1}, expected a list.",
        "evaluated1: kup_engine is 'magic', expected one of auto, ppp, foam, criu.",
        "window1: kup_window has the element 'Sam 02:00-04:00', expected times such as '02:00-04:30'",
        "window1: kup_window_zone is 'Berlin', which the controller does not know",
        "evaluated1: kup_images_dir cannot be evaluated: ",
    ],
)
def test_each_mistake_has_its_node(refused, sentence):
    assert sentence in refused.said.replace("''", "'")


def test_a_good_group_is_not_named_and_no_specification_is_printed(refused):
    assert "node1: " not in refused.said
    assert "argument_spec" not in refused.output
