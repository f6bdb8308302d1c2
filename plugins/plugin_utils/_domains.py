# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Failure domains, such as racks, zones and clusters: how many of their nodes are updated at once.

A batch is divided into waves. Ansible ends one wave before it begins the next, so that nothing has to be locked, and a node that waits for
its domain holds no fork.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _budget, _values

ORDERS = ("any", "one_at_a_time")


@dataclass(frozen=True)
class Domains:
    """What kup_domain and its companions say.

    ``of``: dict node → name of its domain, empty where nodes have none. ``parallel``: how many nodes of a domain may be away at once, a number, or
    a percentage of its nodes rounded down, one at least. ``order``: of `ORDERS`.
    """

    of: dict = field(default_factory=dict)
    parallel: object = 1
    order: str = "any"

    def sorted(self, nodes, out=()):
        """``nodes`` as they are to be divided into batches: from the domains in turn, or one domain after the other.

        :param out: see `objection`. Nodes that may not begin because of these come last, so that no batch has to wait for them.
        """
        if not self.of:
            return list(nodes)
        held = {node for node in nodes if self.objection(node, out, ())}
        return self._in_turn([node for node in nodes if node not in held]) + self._in_turn(
            [*filter(held.__contains__, nodes)]
        )

    def _in_turn(self, nodes):
        found = _grouped(nodes, self.of).values()
        if self.order == "one_at_a_time":
            return list(itertools.chain(*found))
        return [node for turn in itertools.zip_longest(*found) for node in turn if node is not None]

    def waves(self, batch):
        """``batch`` as a list of lists of nodes that may be away at once."""
        if not self.of:
            return [batch]
        limits = self._limits()
        groups = _grouped(batch, self.of)
        parts = [_parts(nodes, limits[domain]) for domain, nodes in groups.items()]
        if self.order == "one_at_a_time":
            return list(itertools.chain(*parts))
        return [list(itertools.chain(*(filter(None, turn)))) for turn in itertools.zip_longest(*parts)]

    def objection(self, node, out, waves):
        """Why ``node`` may not begin: a sentence without its full stop, or empty.

        :param out: nodes of the rollout that are out of service. They count as if they were away.
        :param waves: the waves of all batches.
        """
        if not self.of:
            return ""
        domain = self.of[node]
        others = [other for other in out if self.of[other] != domain]
        if self.order == "one_at_a_time" and others:
            return (
                f"{others[0]} of the domain {self.of[others[0]]} is out of service, and kup_domain_order (one_at_a_time) "
                "lets no other domain begin"
            )
        same = [other for other in out if self.of[other] == domain and other != node]
        if same and len(set(same).union(self._before(node, waves))) >= self._limits()[domain]:
            return f"{same[0]} is out of service, and kup_domain_parallel ({self.parallel}) lets no further node of the domain {domain} begin"
        return ""

    def _limits(self):
        """Dict domain → how many of its nodes may be away."""
        return {
            domain: max(1, _budget.at_most(self.parallel, count)) for domain, count in Counter(self.of.values()).items()
        }

    def _before(self, node, waves):
        """Nodes of the same wave and domain that come before ``node``."""
        wave = next((wave for wave in waves if node in wave), [node])
        return [other for other in wave[: wave.index(node)] if self.of[other] == self.of[node]]


def _grouped(nodes, of):
    """Dict domain → its nodes, both in the order of ``nodes``."""
    found = {}
    for node in nodes:
        found.setdefault(of[node], []).append(node)
    return found


def _parts(nodes, size):
    return [nodes[start : start + size] for start in range(0, len(nodes), size)]


def check(value):
    """Check kup_domain of one node; its name may be empty.

    :raises KupError: it is no text that a table can show.
    """
    # A name from the inventory is easily a number, and a template keeps it one.
    if not isinstance(value, str) or not value.isprintable():
        raise KupError(
            f"kup_domain is {_values.shown(value)}, expected a text on one line such as 'rack1'; "
            "where the inventory has a number, use a template such as '{{ rack | string }}'."
        )


def of_hosts(names):
    """The domains of a rollout, and what is wrong with them.

    :param names: dict host → its kup_domain.
    :returns: (dict host → domain, empty where no host has one; dict host without one, where others have → sentence).
    """
    given = {host: name.strip() for host, name in names.items()}
    first = next((host for host, name in given.items() if name), None)
    if first is None:
        return {}, {}
    sentence = f"kup_domain is empty, and {given[first]!r} on {first}; expected a domain for each node of the rollout, or for none."
    return given, {host: sentence for host, name in given.items() if not name}
