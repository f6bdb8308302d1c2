# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all nodes need, from what each has said of itself: rows for programs, lines and metrics for people who watch."""

from __future__ import annotations

from ansible_collections.kup.fleet.plugins.module_utils._metrics import exposition
from ansible_collections.kup.fleet.plugins.module_utils._metrics import status as status_metrics
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records
from ansible_collections.kup.fleet.plugins.plugin_utils import _report

#: need → what it means, the most urgent first
NEEDS = {
    "look": "it is not known, because the node or its package lists do not say, or its distribution was never tried",
    "decision": "an update is half done, on probation, or has failed",
    "update": "it does not run the kernel that is wanted",
    "reboot": "packages ask for a reboot, or it would bring newer microcode",
    "restart": "services run code that an upgrade has replaced",
    "nothing": "it runs what it should",
}
#: Phases of a record after which somebody has to do something: prepared nodes wait, and the others are at an end.
_UNDECIDED = ("checkpointing", "switching", "probation", "returning", "failed")
# What comes of reading a status that is not as M(kup_status) gives it.
_STRANGE = (AttributeError, IndexError, KeyError, TypeError, ValueError)
_HEADINGS = ("node", "needs", "kernel -> wanted", "up", "last update", "more")
_MEMORY = {
    "checkpoint": "the applications have what they had at the freeze",
    "fresh": "the applications were started fresh",
}
_DAY = 86400
_NAMED = 5  # units and packages in a cell


def rows(found):
    """A dict for each node, the neediest first: ``name``, ``needs`` (of `NEEDS`), ``reason`` (of ``look``), ``status`` (None: not known).

    :param found: dict node → result of M(kup_status), or None.
    """
    return _ordered([_row(node, result or {}) for node, result in found.items()])


def _ordered(found):
    order = list(NEEDS)
    # Sorting keeps the order of the inventory where the need is the same.
    return sorted(found, key=lambda row: order.index(row["needs"]))


def merged(found, now, before, is_there):
    """What is written down: dict with ``time`` (seconds since the epoch) and ``nodes``, rows that have the ``time`` of their look as well.

    :param found: `rows` of the nodes that were looked at.
    :param before: what was written down before. Its rows of other nodes stay.
    :param is_there: function name → whether there still is such a node.
    """
    looked = {row["name"] for row in found}
    others = [
        {"time": before.get("time"), **row}
        for row in before.get("nodes", [])
        if _is_row(row) and row["name"] not in looked and is_there(row["name"])
    ]
    return {"time": now, "nodes": _ordered([*({**row, "time": now} for row in found), *others])}


def _is_row(row):
    """Whether a file has a row that can be shown: another version may have written it."""
    try:
        metrics([row])
        return isinstance(row["name"], str) and row["needs"] in NEEDS
    except _STRANGE:
        return False


def _row(node, result):
    status = result.get("status")
    if not status:
        return _unknown(node, str(result.get("msg") or "The connection to the node was lost."))
    try:
        row = {"name": node, "needs": _need(status), "reason": status["distribution"]["refusal"], "status": status}
        # Whatever a node sends, the others are shown.
        _cells(row)
        metrics([row])
    except _STRANGE:
        return _unknown(node, "Its answer is not what kup_status gives; look whether the node is what it should be.")
    return row


def _unknown(node, reason):
    return {"name": node, "needs": "look", "reason": reason, "status": None}


def _need(status):
    reboot = status["reboot"]
    answers = {
        "look": status["kernel"]["needs_update"] is None,
        "decision": status["last_update"]["phase"] in _UNDECIDED,
        "update": status["kernel"]["needs_update"],
        "reboot": reboot["required"] or status["microcode"]["is_newer"],
        "restart": bool(status["libraries"]["units"]),
    }
    return next((need for need, is_so in answers.items() if is_so), "nothing")


def table(found):
    """The `rows` as lines."""
    count = {need: sum(row["needs"] == need for row in found) for need in NEEDS}
    said = ", ".join(f"{number} {need}" for need, number in count.items() if number)
    return [*_report.columns([_HEADINGS, *map(_cells, found)]), f"needs: {said}"]


def _cells(row):
    status = row["status"]
    if not status:
        return (row["name"], row["needs"], "", "", "", row["reason"])
    kernel, update = status["kernel"], status["last_update"]
    kernels = [kernel["running"], *([kernel["target"]] if kernel["needs_update"] else [])]
    phase = (update["phase"] or "never").replace("_", " ")
    more = "; ".join(filter(None, [row["reason"]] if row["reason"] else _more(status)))
    return (row["name"], row["needs"], " -> ".join(kernels), _age(kernel["uptime_s"]), phase, more)


def _more(status):
    """What is worth knowing, each an end of a sentence; empty where it is not so."""
    update, fresh = status["last_update"], status["last_update"]["fresh_units"]
    preserved = [release for release in status["preserved"] if release != status["kernel"]["running"]]
    return [
        "no wanted kernel is installed or in the package lists" if status["kernel"]["needs_update"] is None else "",
        update["reason"],
        f"{_some(fresh)} started fresh" if fresh else _MEMORY.get(update["data"], ""),
        *_of_others(status["reboot"], status["microcode"], status["libraries"]),
        _listed("live patches", [patch["name"] + _state(patch) for patch in status["livepatches"]]),
        _listed("left over", status["leftovers"]),
        _listed("preserved", preserved),
        _listed("drained", status["drained"]),
    ]


def _of_others(reboot, microcode, libraries):
    """What upgrades of other packages have left to do."""
    units = [f"{each['unit']} ({each['files'][0]}{', ...' * (each['count'] > 1)})" for each in libraries["units"]]
    return [
        f"reboot for {_some(reboot['packages']) or 'a package'}" if reboot["required"] else "",
        f"microcode {microcode['running']} -> {microcode['available']}" if microcode["is_newer"] else "",
        f"old code in {_some(units)}" if units else "",
        "" if libraries["complete"] else "not every process was looked at for old code",
    ]


def _listed(what, names):
    return f"{what}: {_some(names)}" if names else ""


def _state(patch):
    if patch["transition"]:
        return " (in transition)"
    return "" if patch["enabled"] else " (off)"


def _some(names):
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _age(seconds):
    return f"{seconds / _DAY:.0f} d" if seconds >= _DAY else f"{seconds / 3600:.0f} h"


def metrics(found):
    """The `rows` as a file of metrics, with a label for the node."""
    gauges = exposition.Gauges()
    for row in found:
        of_node = gauges.under(node=row["name"])
        of_node.add("kup_status_known", "Whether the node could be looked at.", bool(row["status"]))
        of_node.add_states("kup_needs", "What the node needs most.", "need", NEEDS, row["needs"])
        if row["status"]:
            status_metrics.add(of_node, row["status"], records.PHASES)
    return gauges.text()
