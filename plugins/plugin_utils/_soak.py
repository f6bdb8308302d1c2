# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The soak: before a batch begins, the nodes that were updated so far have run for a while, and are judged once more.

The first node of the batch, a wave of its own, waits for that and judges. The others of the batch follow in later waves, and only if it has.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from ansible_collections.kup.fleet.plugins.plugin_utils import _budget

_HOUR = 3600  # seconds


@dataclass(frozen=True)
class Length:
    """How long a soak is: ``seconds`` at least, and until the updated nodes have run for ``node_hours``, all together."""

    seconds: float = 0
    node_hours: float = 0

    def __bool__(self):
        return bool(self.seconds or self.node_hours)

    def until(self, ends):
        """When it is over, in seconds since the epoch.

        :param ends: when the turn of each node ended; not empty.
        """
        return max(max(ends) + self.seconds, self._run(sorted(ends)))

    def _run(self, ends):
        """When nodes that run since ``ends``, sorted, have the hours: with each that begins the sum grows faster."""
        left = self.node_hours * _HOUR
        for nodes, (end, following) in enumerate(itertools.pairwise(ends), 1):
            if left <= nodes * (following - end):
                return end + left / nodes
            left -= nodes * (following - end)
        return ends[-1] + left / len(ends)


@dataclass(frozen=True)
class Soak:
    """``nodes`` that run since ``since``, and are to be judged at ``until``, in seconds since the epoch."""

    nodes: tuple = ()
    since: float = 0.0
    until: float = 0.0


def waves(batches, length, divide):
    """The waves of all batches.

    :param length: the `Length` of the soak; without it no node goes ahead of its batch.
    :param divide: function that divides a batch into its waves.
    """
    found = []
    for position, batch in enumerate(batches):
        ahead = 1 if length and position else 0
        found += [batch[:ahead]] if ahead else []
        found += divide(batch[ahead:]) if batch[ahead:] else []
    return found


def due(node, facts, batches, length, now):
    """The `Soak` for which ``node`` is to wait, and judge; no nodes where it is not its business, or is done.

    :param facts: dict node → its facts, for all nodes.
    :param now: seconds since the epoch. A node that has committed, and did not come to the end of its turn, soaks from now on.
    """
    before = _before(node, batches)
    if not length or not before or batches[len(before)][0] != node or not _budget.to_update(facts[node]):
        return Soak()
    if _is_done(facts[node]):
        return Soak()
    return _of(before, facts, length, now)


def last(facts, batches, length, now):
    """The `Soak` after the last batch; no nodes if there is no soak, or a node is left whose turn has not come."""
    if not length or any(_budget.to_update(about) and not _budget.committed(about) for about in facts.values()):
        return Soak()
    return _of(batches, facts, length, now)


def _of(batches, facts, length, now):
    nodes = [name for batch in batches for name in batch if _budget.committed(facts[name])]
    ends = [float(_budget.ended(facts[name]) or now) for name in nodes]
    return Soak(tuple(nodes), max(ends), length.until(ends)) if nodes else Soak()


def objection(node, facts, batches, length):
    """Why ``node`` may not begin: a sentence without its full stop, or empty. What `due` waits for does not count for the node that waits."""
    before = _before(node, batches)
    if not length or not before:
        return ""
    first = batches[len(before)][0]
    if node == first or _is_done(facts[first]):
        return ""
    return f"the soak after batch {len(before)} (kup_soak) did not come to its end on {first}, the first node of the next batch"


def unfinished(facts, batches, length):
    """Why nodes were left whose batch has not begun: as `objection`."""
    waiting = [node for node, about in facts.items() if _budget.to_update(about) and not _budget.committed(about)]
    return next(filter(None, (objection(node, facts, batches, length) for node in waiting)), "")


def _before(node, batches):
    """The batches before that of ``node``."""
    position = next((number for number, batch in enumerate(batches) if node in batch), 0)
    return batches[:position]


def _is_done(facts):
    return bool(facts.get("__kup_soaked"))
