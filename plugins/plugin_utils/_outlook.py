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
_SUMMARY = ("name", "verdict", "batch", "kernel", "target", "outage_s", "reason")
_OF_DOMAIN = ("wave", "domain")  # columns after the batch, where nodes have domains


def rows(facts, lost, batches, waves=(), domains=None):
    """A dict for each node, in order.

    ``name``, ``verdict`` (of `VERDICTS`), ``batch`` and ``wave`` (counted from 1; None), ``domain`` (empty if there are none), ``kernel`` and
    ``target`` (releases, empty if unknown), ``engine`` (and, with a ``+``, that of its disk checkpoint), ``engine_reasons`` (why no better one),
    ``outages_s`` (expected with each engine: dict), ``units`` (names), ``memory_bytes`` (resident, of the units), ``outage_s`` (expected
    seconds; None), ``blockers`` (dicts, as M(kup_preflight) returns them), ``reason``.

    :param facts: dict node → its facts, for all nodes in order.
    :param lost: nodes that Ansible has taken out of the play.
    :param batches: lists of nodes; ``waves``: the same.
    :param domains: dict node → name of its domain.
    """
    batch_of, wave_of, gone = _numbers(batches), _numbers(waves), set(lost)
    return [
        {
            **_row(node, about, node in gone),
            "batch": batch_of.get(node),
            "wave": wave_of.get(node),
            "domain": (domains or {}).get(node, ""),
        }
        for node, about in facts.items()
    ]


def _numbers(groups):
    return {node: number for number, group in enumerate(groups, 1) for node in group}


def _row(node, about, is_lost):
    fit = about.get("kup_checkpoint_fit") or {}
    units = fit.get("units") or []
    return {
        "name": node,
        "verdict": _verdict(about, is_lost),
        "kernel": fit.get("running") or "",
        "target": fit.get("release") or "",
        "engine": " + ".join(name for name in (fit.get("engine"), fit.get("disk_checkpoint")) if name),
        "engine_reasons": fit.get("engine_reasons") or [],
        "outages_s": fit.get("outages_s") or {},
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
    with_domains = any(row["domain"] for row in found)
    headings = (*_HEADINGS[:2], *_OF_DOMAIN, *_HEADINGS[2:]) if with_domains else _HEADINGS
    cells = [_cells(row, _of_domain(row) if with_domains else ()) for row in found]
    return [*_report.columns([headings, *cells]), f"plan: {said}"]


def summary(found):
    """The `rows` in short, see `_report.shortened`."""
    return _report.shortened(found, [row["verdict"] in ("refused", "unreachable") for row in found], _SUMMARY)


def _of_domain(row):
    return str(row["wave"] or "-"), row["domain"]


def _cells(row, of_domain):
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
        *of_domain,
        " -> ".join(kernels) if row["kernel"] else "",
        row["engine"] if is_good else "",
        f"{-(-row['memory_bytes'] // _MIB)} MiB" if is_good else "",
        f"{row['outage_s']:.0f} s" if row["outage_s"] is not None and row["verdict"] == "update" else "",
        last,
    )
