# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The report of a rollout: one row per node, what is known of all, and its table for people."""

from __future__ import annotations

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError, printable

#: result → what it means
RESULTS = {
    "pending": "its turn has not come",
    "under_way": "it is being updated",
    "up_to_date": "it ran the target before",
    "committed": "it runs the target",
    "returned": "it was taken back to the old kernel, with its state",
    "fell_back": "it runs the old kernel again, with its state",
    "partial": "some services lost their state, the others have theirs, on the old or the new kernel",
    "aborted": "the switch was given up before the jump; its applications run on, unless the reason says otherwise",
    "failed": "something else went wrong; where a restore failed the units were started fresh",
    "lost": "it did not come back, or cannot be reached",
    "untouched": "the rollout stopped before its turn",
}

#: result → what to do about it
ADVICE = {
    "pending": "Wait for its turn. If the rollout was killed, run kup.fleet.kup_update again.",
    "under_way": "Wait. If the rollout was killed, run kup.fleet.kup_update again: it commits a node on probation. A node that "
    "nobody commits goes back by itself.",
    "up_to_date": "Nothing.",
    "committed": "Nothing.",
    "returned": "Nothing.",
    "fell_back": "Correct what the reason says, and run kup.fleet.kup_update again.",
    "partial": "Fill the services again that lost their state. Correct what the reason says; if the node runs the old kernel, "
    "run kup.fleet.kup_update again.",
    "aborted": "Correct what the reason says, and run kup.fleet.kup_update again.",
    "failed": "See with kup.fleet.kup_status where the node stands. Correct what the reason says, and run kup.fleet.kup_update again.",
    "lost": "Look at its console and its network. When it answers, see with kup.fleet.kup_status where it stands, and run "
    "kup.fleet.kup_update again: it commits a node on probation.",
    "untouched": "Nothing was switched. When the others are in order, run kup.fleet.kup_update again.",
}
#: result of the rollout → what it means
OUTCOMES = {
    "committed": "all nodes run the target",
    "returned": "all nodes run their old kernels",
    "partial": "every node had its turn, and some run the target",
    "stopped": "not every node had its turn, or none runs the target",
    "running": "it is not at its end, and nothing is wrong so far",
}

_JUDGED = 200  # judgements of metrics that are kept
_GOOD = ("committed", "returned", "up_to_date")
_OPEN = ("pending", "under_way")
_UNTOUCHED = ("pending", "untouched")


def advice(result_of_node, rollout):
    """What to do about a node, a sentence or two; empty for a result that there is not.

    :param rollout: see `merge`; with ``way`` "back" it takes nodes back to their old kernels.
    """
    said = ADVICE.get(result_of_node, "")
    return said.replace("kup_update", "kup_fallback") if rollout.get("way") == "back" else said


def needs_attention(result_of_node):
    """Whether a node with this result did not get, or keep, the target with all of its state."""
    return result_of_node not in _GOOD


def merge(report, rows=(), rollout=None):
    """A new report: ``report`` with more rows, and more about the rollout.

    :param rows: dicts with ``name`` and whatever else is known of the node; what they do not mention stays.
    :param rollout: dict of the same kind; every node of its ``batches`` gets a row, and what was ``judged`` comes after what was before.
    :raises KupError: a row without a name, or with a result that there is not.
    """
    nodes = {node["name"]: dict(node) for node in report.get("nodes", [])}
    before = report.get("rollout", {})
    about = {**before, **(rollout or {})}
    if "judged" in (rollout or {}):
        about["judged"] = [*before.get("judged", []), *rollout["judged"]][-_JUDGED:]
    for name in (name for batch in about.get("batches", []) for name in batch):
        nodes.setdefault(name, {"name": name, "result": "pending"})
    for row in rows:
        nodes[row["name"]] = joined(nodes.get(row["name"]), row)
    return _with_result(nodes.values(), about)


def joined(before, row):
    """What is known of a node: ``before`` (dict or None) with what ``row`` says anew.

    :raises KupError: the row has no name, or a result that there is not.
    """
    _check(row)
    return {"result": "pending", **(before or {}), **row}


def close(report, finished):
    """``report`` at the end of its rollout: what has no result by then gets one. What has ended before is left as it is.

    :param finished: seconds since the epoch.
    """
    about = report["rollout"]
    if is_closed(report):
        return report
    wall = round(finished - float(about.get("started", finished)), 1)
    return _with_result([_closed(node) for node in report["nodes"]], {**about, "wall_s": wall})


def is_closed(report):
    return "wall_s" in report.get("rollout", {})


def _with_result(nodes, about):
    nodes = list(nodes)
    found = result([node["result"] for node in nodes])
    went_back = found == "committed" and about.get("way") == "back"
    return {"nodes": nodes, "rollout": {**about, "result": "returned" if went_back else found}}


def _check(row):
    if not row.get("name"):
        raise KupError(f"A row of the report has the name {row.get('name')!r}, expected the name of a node.")
    if row.get("result", "pending") not in RESULTS:
        raise KupError(
            f"The row of {row['name']} has the result {row['result']!r}, expected one of {', '.join(RESULTS)}."
        )


def _closed(node):
    if node["result"] == "pending":
        return {**node, "result": "untouched"}
    if node["result"] == "under_way":
        # Whoever could still speak has said more than this.
        return {**node, "result": "lost", "reason": node.get("reason") or "the node could not be reached any more"}
    return node


def result(results):
    """The rollout's result from those of its nodes.

    ``committed``: all run the target. ``running``: not at its end, and nothing is wrong so far. ``partial``: every
    node had its turn and some run the target. ``stopped``: anything else.
    """
    if all(each in _GOOD for each in results):
        return "committed"
    bad = [each for each in results if each not in _GOOD + _OPEN]
    if not bad:
        return "running"
    tried = not any(each in _UNTOUCHED + _OPEN for each in results)
    return "partial" if tried and any(each in _GOOD for each in results) else "stopped"


_SUMMARY = ("name", "result", "reason", "kernel_before", "kernel_after", "outage_s", "fresh_units")
_MOST = 500  # nodes of a summary: AWX gives it to the next job of a workflow as a variable


def release(report):
    """The one release of the target that nodes run; empty if there is none, or are several, or if they were taken back."""
    updated = [
        node.get("kernel_after") for node in report.get("nodes", []) if node["result"] in ("committed", "up_to_date")
    ]
    found = set(filter(None, updated))
    return found.pop() if len(found) == 1 and report.get("rollout", {}).get("way") != "back" else ""


def summary(report):
    """``report`` in short, for those who have no file of it, see `shortened`."""
    nodes = report.get("nodes", [])
    return shortened(nodes, [needs_attention(node["result"]) for node in nodes], _SUMMARY)


def shortened(rows, urgent, keys):
    """Dict with ``nodes``, dicts with those of ``keys`` that say something, and ``left_out``, how many there are besides.

    :param urgent: whether each of ``rows`` comes before the others.
    """
    first = [row for row, is_urgent in zip(rows, urgent, strict=True) if is_urgent]
    ordered = first + [row for row, is_urgent in zip(rows, urgent, strict=True) if not is_urgent]
    nodes = [{key: row[key] for key in keys if row.get(key) not in (None, "", [])} for row in ordered[:_MOST]]
    return {"nodes": nodes, "left_out": len(ordered) - len(nodes)}


_HEADINGS = ("node", "kernel before -> after", "result", "outage", "reason")


def table(report):
    """The report as lines for a person."""
    lines = columns([_HEADINGS, *(_cells(node) for node in report.get("nodes", []))])
    return [*lines, _summary(report.get("rollout", {}))]


def columns(rows):
    """Lines of the ``rows``, tuples of as many texts each, one under the other. The texts may be those of nodes."""
    shown = [[_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, cells)) for cells in zip(*shown, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown]


def _line(text):
    return printable(" ".join(text.split()))


def _cells(node):
    kernels = [node.get("kernel_before"), node.get("kernel_after")]
    both = " -> ".join(str(kernel or "?") for kernel in kernels) if any(kernels) else ""
    if kernels[0] and kernels[0] == kernels[1]:
        both = kernels[0]
    outage = node.get("outage_s")
    return (
        node["name"],
        both,
        node["result"],
        "" if outage is None else f"{float(outage):.1f} s",
        str(node.get("reason") or ""),
    )


def _summary(rollout):
    wall = f" after {rollout['wall_s']:.0f} s" if "wall_s" in rollout else ""
    reason = f"; {rollout['reason']}" if rollout.get("reason") else ""
    return _line(f"rollout {rollout.get('run_id', '')}: {rollout.get('result', 'running')}{wall}{reason}")
