# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The soak: before a batch begins, the nodes that were updated so far have run for a while, and are judged once more.

The first node of the batch, a wave of its own, waits for that and judges. The others of the batch follow in later waves, and only if it has.
"""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.kup.fleet.plugins.plugin_utils import _budget


@dataclass(frozen=True)
class Soak:
    """``nodes`` that run since ``since``, and are to be judged at ``until``, in seconds since the epoch."""

    nodes: tuple = ()
    since: float = 0.0
    until: float = 0.0


def waves(batches, seconds, divide):
    """The waves of all batches.

    :param seconds: of the soak; without it no node goes ahead of its batch.
    :param divide: function that divides a batch into its waves.
    """
    found = []
    for position, batch in enumerate(batches):
        ahead = 1 if seconds and position else 0
        found += [batch[:ahead]] if ahead else []
        found += divide(batch[ahead:]) if batch[ahead:] else []
    return found


def due(node, facts, batches, seconds, now):
    """The `Soak` for which ``node`` is to wait, and judge; no nodes where it is not its business, or is done.

    :param facts: dict node → its facts, for all nodes.
    :param now: seconds since the epoch. A node that has committed, and did not come to the end of its turn, soaks from now on.
    """
    before = _before(node, batches)
    if not seconds or not before or batches[len(before)][0] != node or not _budget.to_update(facts[node]):
        return Soak()
    if _is_done(facts[node]):
        return Soak()
    return _of(before, facts, seconds, now)


def last(facts, batches, seconds, now):
    """The `Soak` after the last batch; no nodes if there is no soak, or a node is left whose turn has not come."""
    if not seconds or any(_budget.to_update(about) and not _budget.committed(about) for about in facts.values()):
        return Soak()
    return _of(batches, facts, seconds, now)


def _of(batches, facts, seconds, now):
    nodes = [name for batch in batches for name in batch if _budget.committed(facts[name])]
    ends = [float(facts[name].get("__kup_turn_ended") or now) for name in nodes]
    return Soak(tuple(nodes), max(ends), max(ends) + seconds) if nodes else Soak()


def objection(node, facts, batches, seconds):
    """Why ``node`` may not begin: a sentence without its full stop, or empty. What `due` waits for does not count for the node that waits."""
    before = _before(node, batches)
    if not seconds or not before:
        return ""
    first = batches[len(before)][0]
    if node == first or _is_done(facts[first]):
        return ""
    return f"the soak after batch {len(before)} (kup_soak) did not come to its end on {first}, the first node of the next batch"


def unfinished(facts, batches, seconds):
    """Why nodes were left whose batch has not begun: as `objection`."""
    waiting = [node for node, about in facts.items() if _budget.to_update(about) and not _budget.committed(about)]
    return next(filter(None, (objection(node, facts, batches, seconds) for node in waiting)), "")


def _before(node, batches):
    """The batches before that of ``node``."""
    position = next((number for number, batch in enumerate(batches) if node in batch), 0)
    return batches[:position]


def _is_done(facts):
    return bool(facts.get("__kup_soaked"))
