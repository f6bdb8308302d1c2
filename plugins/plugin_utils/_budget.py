# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Whether a rollout goes on: what has become of its nodes so far, against its budgets and the success of its batches.

All of it is derived from facts that the tasks of the playbook leave with each node.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _row

#: Phases of a node's record in which an update is half done; roles/kup/vars has the same.
UNDER_WAY = ("switching", "probation", "returning")
#: Results of a failed update (`_report.RESULTS`) with which a node is not what it was.
_OUT = ("lost", "failed", "partial")
_NAMES = 5  # nodes that a sentence names


@dataclass(frozen=True)
class Limits:
    """What the variables of the same names say; numbers, or percentages such as ``"10%"``. ``way``: "update", or "back" to the old kernels."""

    max_failed: object = 0
    max_unreachable: object = 0
    batch_success: object = "50%"
    way: str = "update"


def share(name, value, least):
    """Check a number from ``least`` or a percentage.

    :raises KupError: it is neither; the sentence begins with ``name``.
    """
    text = "" if isinstance(value, bool) else str(value).strip()
    percent = re.fullmatch(r"(\d+)%", text)
    good = least <= int(percent[1]) <= 100 if percent else re.fullmatch(r"\d+", text) and int(text) >= least
    if not good:
        raise KupError(
            f"{name} is {value!r}, expected a whole number of at least {least} or a percentage from '{least}%' to '100%'."
        )


def at_most(value, total):
    """The number that ``value`` means of ``total`` nodes, a percentage rounded down."""
    text = str(value).strip()
    return total * int(text[:-1]) // 100 if text.endswith("%") else int(text)


def at_least(value, total):
    """The number that ``value`` means of ``total`` nodes, rounded up: one at least, and no more than there are."""
    text = str(value).strip()
    wanted = -(-total * int(text[:-1]) // 100) if text.endswith("%") else int(text)
    return min(max(wanted, 1), total)


def committed(facts):
    """Whether a node with these facts has come to the end that this rollout is for, with all of its state: its update is committed, or it
    has gone back as was asked for.
    """
    kept = facts.get("kup_restore_kept") or {"failed": True}
    return not facts.get("__kup_failed") and bool(not kept.get("failed") or facts.get("__kup_went_back"))


def began(facts):
    """When the turn of a node with these facts began (seconds since the epoch, by the controller's clock)."""
    # A node that is drained asks once more after that.
    return float(facts.get("__kup_turn_began") or facts["kup_asked"]["at"])


def ended(facts):
    """When a node with these facts has come to the end of its turn (seconds since the epoch, by the controller's clock): when its kernel was
    kept, or it was put back into service after that; None if neither was.
    """
    return facts.get("__kup_turn_ended") or (facts.get("kup_restore_kept") or {}).get("ended")


def to_update(facts):
    """Whether a node with these facts is to be updated: it needs it, and nothing has gone wrong in its preparation."""
    fit = facts.get("kup_checkpoint_fit") or {}
    return not facts.get("__kup_failed") and bool(fit.get("needs_update"))


def under_way(facts):
    """Whether the update of such a node was begun by an earlier rollout."""
    return to_update(facts) and facts["kup_checkpoint_fit"].get("phase") in UNDER_WAY


def gone(facts, lost):
    """Which of the nodes ``lost``, that Ansible has taken out of the play, are gone: a node that was left alone has left its play as well.

    :param facts: dict node → its facts.
    """
    return [node for node in lost if ((facts.get(node) or {}).get("kup_asked") or {}).get("turn") is not False]


def stops(facts):
    """Whether a node with these facts has failed by a service whose policy (``on_failure``) ends the rollout, as its record says."""
    return bool(facts.get("__kup_failed") and _row.record(facts).get("stopped_by"))


def out_of_service(facts):
    """Whether a node with these facts has failed so that it does not serve: it is lost, has lost its state, or is still drained."""
    settled = (facts.get("kup_restore_settled") or {}).get("result")
    return bool(facts.get("__kup_lost") or settled in _OUT or facts.get("kup_drain_left"))


class Budget:
    """The nodes of a rollout as they are now.

    :param facts: dict node → its facts, for all nodes in order.
    :param lost: nodes that Ansible has taken out of the play.
    :param batches: lists of nodes.
    :param domains: the `_domains.Domains` of the nodes, with their ``waves``; None where they have none.
    """

    def __init__(self, facts, lost, batches, limits, domains=None, waves=()):
        self._facts = facts
        self._limits = limits
        self._batches = batches
        self._domains = domains
        self._waves = waves
        bad = _with(facts, "__kup_failed")
        away = set(gone(facts, lost)).difference(bad)
        self.lost = [node for node in facts if node in away]
        self.unreachable = [node for node in bad if facts[node].get("__kup_unreached")]
        self.failed = [node for node in bad if not facts[node].get("__kup_unreached")] + self.lost
        self.committed = _that(facts, committed)
        self.broken = _with(facts, "__kup_broke")
        self.stopping = _that(facts, stops)
        self.out = out(facts, self.lost)
        self._held = [about["__kup_held"] for about in facts.values() if about.get("__kup_held")]

    def objection(self, node=None, with_domain=True):
        """Why no further node may be switched: a sentence without its full stop, or empty.

        :param node: only what holds for this one: batches before its own, and its domain.
        """
        limits, total = self._limits, len(self._facts)
        if self.stopping:
            return f"{names(self.failed)} failed, on_failure of a service of {names(self.stopping)} is stop"
        if self.broken:
            return f"{names(self.broken)} failed in the soak after its update (kup_soak)"
        if len(self.failed) > at_most(limits.max_failed, total):
            return f"{names(self.failed)} failed, kup_max_failed allows {limits.max_failed}"
        if len(self.unreachable) > at_most(limits.max_unreachable, total):
            return (
                f"{names(self.unreachable)} could not be reached, kup_max_unreachable allows {limits.max_unreachable}"
            )
        if self._held:
            # Whoever comes later is left alone, too, even if it could begin by now: the rollout has stopped.
            return self._held[0]
        waiting = [node] if node else self._waiting()
        return self._unsuccessful(self._before(node)) or self._out_of_domains(waiting if with_domain else [])

    def _waiting(self):
        return [node for node, about in self._facts.items() if to_update(about) and not committed(about)]

    def _out_of_domains(self, nodes):
        if not self._domains:
            return ""
        return next(filter(None, (self._domains.objection(node, self.out, self._waves) for node in nodes)), "")

    def _before(self, node):
        """Batches that have to be over before ``node``; for None before the last."""
        for position, batch in enumerate(self._batches):
            if node in batch:
                return self._batches[:position]
        return self._batches[:-1]

    def _unsuccessful(self, batches):
        good = set(self.committed)
        for position, batch in enumerate(batches, 1):
            count, wanted = len(good.intersection(batch)), at_least(self._limits.batch_success, len(batch))
            if count < wanted:
                done = "went back" if self._limits.way == "back" else "committed"
                return (
                    f"{count} of batch {position} ({names(batch)}) {done}, "
                    f"kup_batch_success ({self._limits.batch_success}) expects {wanted}"
                )
        return ""

    def goes(self, node):
        """(whether ``node`` is to be switched now, why not: a sentence without its full stop)."""
        about = self._facts[node]
        if not to_update(about):
            return False, ""
        if under_way(about):
            # It runs on probation, or is about to: whoever leaves it alone costs it another outage.
            return True, ""
        objection = self.objection(node)
        return not objection, objection


def _that(facts, fits):
    """Nodes whose facts fit: a function of them."""
    return [node for node, about in facts.items() if fits(about)]


def _with(facts, name):
    """Nodes whose fact ``name`` is true."""
    return _that(facts, lambda about: about.get(name))


def names(nodes):
    """Some of ``nodes`` by name, and how many there are besides, for a sentence."""
    more = len(nodes) - _NAMES
    return ", ".join(nodes[:_NAMES]) + (f" and {more} more" if more > 0 else "")


def divide(facts, lost, make):
    """The batches of a rollout: of nodes that need the update and can have it.

    Nodes whose update an earlier rollout has begun come first, all at once: they wait for a commit.

    :returns: (list of the batch of those, empty if there are none; list of the other batches).

    :param facts: dict node → its facts, for all nodes in order.
    :param lost: nodes that Ansible has taken out of the play.
    :param make: function that divides a list of nodes into a list of lists.
    """
    ready = [node for node, about in facts.items() if to_update(about) and node not in lost]
    begun = [node for node in ready if under_way(facts[node])]
    return [begun] if begun else [], make([node for node in ready if node not in set(begun)])


def out(facts, lost):
    """Nodes that do not serve: those of `out_of_service`, and those that are gone."""
    away = set(gone(facts, lost))
    return [node for node, about in facts.items() if node in away or out_of_service(about)]
