# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many nodes of a failure domain are away at once."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _domains, _plan
from ansible_collections.kup.fleet.plugins.plugin_utils._domains import Domains

# Three nodes of a, two of b, one of c, in the order of an inventory.
OF = {"a1": "a", "a2": "a", "a3": "a", "b1": "b", "b2": "b", "c1": "c"}
ALL = list(OF)


@pytest.mark.parametrize(
    ("order", "nodes"),
    [("any", ["a1", "b1", "c1", "a2", "b2", "a3"]), ("one_at_a_time", ["a1", "a2", "a3", "b1", "b2", "c1"])],
)
def test_batches_are_made_of_nodes_in_this_order(order, nodes):
    assert Domains(OF, order=order).sorted(ALL) == nodes


def test_nodes_of_a_domain_that_are_apart_come_together_one_domain_at_a_time():
    assert Domains(OF, order="one_at_a_time").sorted(["b1", "a1", "b2"]) == ["b1", "b2", "a1"]


@pytest.mark.parametrize(
    ("parallel", "order", "waves"),
    [
        (1, "any", [["a1", "b1", "c1"], ["a2", "b2"], ["a3"]]),
        (2, "any", [["a1", "a2", "b1", "b2", "c1"], ["a3"]]),
        ("2", "any", [["a1", "a2", "b1", "b2", "c1"], ["a3"]]),
        ("50%", "any", [["a1", "b1", "c1"], ["a2", "b2"], ["a3"]]),
        ("67%", "any", [["a1", "a2", "b1", "c1"], ["a3", "b2"]]),
        ("100%", "any", [["a1", "a2", "a3", "b1", "b2", "c1"]]),
        (1, "one_at_a_time", [["a1"], ["a2"], ["a3"], ["b1"], ["b2"], ["c1"]]),
        (2, "one_at_a_time", [["a1", "a2"], ["a3"], ["b1", "b2"], ["c1"]]),
        ("100%", "one_at_a_time", [["a1", "a2", "a3"], ["b1", "b2"], ["c1"]]),
    ],
)
def test_waves_keep_nodes_of_a_domain_apart(parallel, order, waves):
    assert Domains(OF, parallel, order).waves(ALL) == waves


def test_without_domains_a_batch_is_one_wave_and_nothing_objects():
    assert Domains().sorted(ALL) == ALL
    assert Domains().waves(ALL) == [ALL]
    assert Domains().objection("a1", ["a2"], [ALL]) == ""


@pytest.mark.parametrize("seed", range(40))
def test_whatever_the_fleet_no_wave_has_too_many_of_a_domain(seed):
    chance = random.Random(seed)
    nodes = [f"n{number}" for number in range(chance.randint(1, 60))]
    of = {node: chance.choice("abcdefg") for node in nodes}
    parallel, order = chance.choice([1, 2, 5, "30%"]), chance.choice(_domains.ORDERS)
    domains, ready = Domains(of, parallel, order), chance.sample(nodes, chance.randint(1, len(nodes)))
    waves = [
        wave for batch in _plan.batches(domains.sorted(ready), [1, "25%", "100%"]) for wave in domains.waves(batch)
    ]
    assert sorted(sum(waves, [])) == sorted(ready)
    for wave in waves:
        count = Counter(of[node] for node in wave)
        assert all(count[domain] <= domains._limits()[domain] for domain in count)
        assert order == "any" or len(count) == 1
    if order == "one_at_a_time":
        # Once a domain was left it does not come again.
        seen = [of[node] for node in sum(waves, [])]
        changes = [domain for domain, before in zip(seen, [None, *seen], strict=False) if domain != before]
        assert len(changes) == len(set(changes))


def test_a_node_out_of_service_counts_as_one_that_is_away():
    waves = [["a1", "a2", "b1"], ["a3", "b2", "c1"]]
    two = Domains(OF, 2)
    assert [two.objection(node, ["a1"], waves) for node in ("a3", "b2", "c1")] == ["", "", ""]
    assert two.objection("a3", ["a1", "a2"], waves).startswith("a1 is out of service, and kup_domain_parallel (2)")
    # One place is left in the domain, for one node of the wave.
    places = {**OF, "a4": "a"}
    waves = [["a1", "a2"], ["a3", "a4"]]
    assert [bool(Domains(places, 2).objection(node, ["a1"], waves)) for node in ("a3", "a4")] == [False, True]


def test_one_at_a_time_no_domain_begins_while_a_node_of_another_is_out_of_service():
    domains = Domains(OF, "100%", "one_at_a_time")
    waves = domains.waves(ALL)
    assert domains.objection("a3", ["a1"], waves) == ""
    assert domains.objection("b1", ["a1"], waves) == (
        "a1 of the domain a is out of service, and kup_domain_order (one_at_a_time) lets no other domain begin"
    )
