# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wrong with one group is found before any node is asked for anything: the real playbook, with nodes of a table."""

from __future__ import annotations

import pytest

from tests.rollout.nodes import Rollout

GOOD = {"kup_kernel": "7.2", "kup_units": ["memcached.service"]}
WRONG = {
    "no_units": {"kup_kernel": "7.2"},
    "numbers": {**GOOD, "kup_kernel": 6.1, "kup_gate_ports": {"a": 1}},
    "evaluated": {**GOOD, "kup_images_dir": "{{ not_there }}/images", "kup_engine": "{{ 'mag' ~ 'ic' }}"},
}


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """A run with a good group and, for each of `WRONG`, a group of this name with one node."""
    groups = {"good": {"hosts": ["node1", "node2"], "vars": GOOD}}
    groups |= {name: {"hosts": [f"{name}1"], "vars": variables} for name, variables in WRONG.items()}
    nodes = {host: {} for group in groups.values() for host in group["hosts"]}
    return Rollout(tmp_path_factory.mktemp("rollout"), nodes, groups).run()


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
        "evaluated1: kup_images_dir cannot be evaluated: ",
    ],
)
def test_each_mistake_has_its_node(refused, sentence):
    assert sentence in refused.said.replace("''", "'")


def test_a_good_group_is_not_named_and_no_specification_is_printed(refused):
    assert "node1: " not in refused.said
    assert "argument_spec" not in refused.output
