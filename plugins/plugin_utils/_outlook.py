# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What a rollout would do with each node, from what the judgement of all nodes has left: rows for programs, lines for people."""

from __future__ import annotations

from ansible_collections.kup.fleet.plugins.plugin_utils import _budget, _report

#: verdict → what it means
VERDICTS = {
    "update": "it is updated when the turn of its batch comes",
    "resume": "an earlier rollout has begun its update, which is brought to its end",
    "up_to_date": "it runs the target",
    "refused": "something stands in the way",
    "unreachable": "it did not answer",
}
_MIB = 1 << 20
_HEADINGS = ("node", "batch", "kernel -> target", "engine", "memory", "outage", "services, or what stands in the way")


def rows(facts, lost, batches):
    """A dict for each node, in order.

    ``name``, ``verdict`` (of `VERDICTS`), ``batch`` (counted from 1; None), ``kernel`` and ``target`` (releases, empty if unknown), ``engine``,
    ``units`` (names), ``memory_bytes`` (resident, of the units), ``outage_s`` (expected seconds; None), ``blockers`` (dicts, as
    M(kup_preflight) returns them), ``reason``.

    :param facts: dict node → its facts, for all nodes in order.
    :param lost: nodes that Ansible has taken out of the play.
    :param batches: lists of nodes.
    """
    places = {node: number for number, batch in enumerate(batches, 1) for node in batch}
    gone = set(lost)
    return [_row(node, about, node in gone, places.get(node)) for node, about in facts.items()]


def _row(node, about, is_lost, batch):
    fit = about.get("kup_checkpoint_fit") or {}
    units = fit.get("units") or []
    return {
        "name": node,
        "verdict": _verdict(about, is_lost),
        "batch": batch,
        "kernel": fit.get("running") or "",
        "target": fit.get("release") or "",
        "engine": fit.get("engine") or "",
        "units": [unit["unit"] for unit in units],
        "memory_bytes": sum(unit["rss_bytes"] for unit in units),
        "outage_s": fit.get("outage_s"),
        "blockers": fit.get("blockers") or [],
        "reason": str(about.get("__kup_reason") or ("The connection to the node was lost." if is_lost else "")),
    }


def _verdict(about, is_lost):
    if about.get("__kup_unreached") or is_lost:
        return "unreachable"
    if about.get("__kup_failed"):
        return "refused"
    if _budget.under_way(about):
        return "resume"
    return "update" if _budget.to_update(about) else "up_to_date"


def table(found):
    """The `rows` as lines."""
    count = {verdict: sum(row["verdict"] == verdict for row in found) for verdict in VERDICTS}
    said = ", ".join(f"{number} {verdict.replace('_', ' ')}" for verdict, number in count.items() if number)
    return [*_report.columns([_HEADINGS, *(_cells(row) for row in found)]), f"plan: {said}"]


def _cells(row):
    is_good = row["verdict"] in ("update", "resume")
    kernels = [row["kernel"] or "?", *([row["target"] or "?"] if is_good else [])]
    last = (
        ", ".join(row["units"])
        if is_good
        else f"{row['verdict'].replace('_', ' ')}: {row['reason']}".removesuffix(": ")
    )
    return (
        row["name"],
        str(row["batch"] or "-"),
        " -> ".join(kernels) if row["kernel"] else "",
        row["engine"] if is_good else "",
        f"{-(-row['memory_bytes'] // _MIB)} MiB" if is_good else "",
        f"{row['outage_s']:.0f} s" if row["outage_s"] is not None and row["verdict"] == "update" else "",
        " ".join(last.split()),
    )
