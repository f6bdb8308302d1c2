# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The report of a rollout as one page of HTML that needs nothing else: no script, no network, no colour.

Names of nodes and units, reasons and numbers come from the inventory and from nodes. They are values of a template with automatic
escaping, never a part of one, and what is not of the expected kind is shown as text, or left out.
"""

from __future__ import annotations

import datetime
import functools
import unicodedata
from collections import Counter
from pathlib import Path

import jinja2
from markupsafe import Markup

from ansible_collections.kup.fleet.plugins.plugin_utils import (
    _judgement_picture,
    _outage_picture,
    _report,
    _svg,
    _update_picture,
)

TEMPLATE = Path(__file__).parents[2] / "roles/kup/templates/report.html.j2"
_LONGEST = 2000  # characters of a value
_MOST = 200  # values of a list or dict of a node
_JUDGED = 50  # judgements of metrics, the newest
_TOP = 24  # pixels above the bars of an update


#: verdict of `_judgement.Judgement` → words
_JUDGEMENTS = {
    "pass": "no worse",
    "high": "worse: higher",
    "low": "worse: lower",
    "unknown": "too few values, and optional",
}


def render(report):
    """The page of ``report`` as text."""
    rows, about = list(report.get("nodes", [])), report.get("rollout", {})
    nodes = [_node(number, row, about) for number, row in enumerate(rows, 1)]
    return _template().render(
        style=Markup(_svg.STYLE),
        rollout=_rollout(about, rows),
        nodes=nodes,
        outages=_outages(rows),
        judged=_judged(about.get("judged")),
        results=_results(nodes, about),
        lossy=[node for node in nodes if node["fresh_units"]],
    )


@functools.cache
def _template():
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATE.parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(TEMPLATE.name)


def shown(value):
    """``value`` as text: control characters and those that turn the direction of writing as escapes, and not longer than a paragraph."""
    text = "" if value is None else str(value)
    cut = f"{text[:_LONGEST]}…" if len(text) > _LONGEST else text
    return "".join(
        f"\\u{{{ord(each):x}}}" if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp") else each
        for each in " ".join(cut.split())
    )


def _rollout(about, rows):
    kernels = Counter(_kernels(row) for row in rows if row.get("kernel_before") or row.get("kernel_after"))
    counts = Counter(str(row.get("result")) for row in rows)
    return {
        "run_id": shown(about.get("run_id")),
        "target": shown(about.get("kernel")),
        "kernels": kernels.most_common(_MOST),
        "result": shown(about.get("result")),
        "means": _report.OUTCOMES.get(about.get("result"), ""),
        "reason": shown(about.get("reason")),
        "started": _date(about.get("started")),
        "duration": _duration(about.get("wall_s")),
        "counts": [(result.replace("_", " "), counts[result]) for result in _report.RESULTS if counts[result]],
        "total": len(rows),
    }


def _kernels(row):
    before, after = (shown(row.get(key)) or "?" for key in ("kernel_before", "kernel_after"))
    return before if before == after else f"{before} → {after}"


def _date(seconds):
    if not isinstance(seconds, (int, float)):
        return ""
    try:
        return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return ""


def _duration(seconds):
    if not _outage_picture.is_seconds(seconds):
        return ""
    minutes, rest = divmod(round(seconds), 60)
    return (
        f"{minutes // 60} h {minutes % 60} min"
        if minutes >= 60
        else f"{minutes} min {rest} s"
        if minutes
        else f"{rest} s"
    )


def _seconds(value):
    return f"{value:.1f} s" if _outage_picture.is_seconds(value) else ""


def _node(number, row, about):
    result = str(row.get("result"))
    fresh = [shown(unit) for unit in _list(row.get("fresh_units"))]
    return {
        "id": f"node-{number}",
        "name": shown(row.get("name")),
        "kernels": _kernels(row) if row.get("kernel_before") or row.get("kernel_after") else "",
        "engine": shown(row.get("engine")),
        "result": result,
        "words": shown(result.replace("_", " ")),
        "outage": _seconds(row.get("outage_s")),
        "reason": shown(row.get("reason")),
        "advice": _report.advice(result, about),
        "is_good": not _report.needs_attention(result),
        "fresh_units": fresh,
        "picture": _picture(row),
        "phases": [(_phase(name), f"{value:.2f} s") for name, value in _pairs(row.get("phases")) if _seconds(value)],
        "engine_reasons": [shown(reason) for reason in _list(row.get("engine_reasons"))],
        "numbers": [
            (shown(name), shown(value.get("before")), shown(value.get("now")))
            for name, value in _pairs(row.get("numbers"))
            if isinstance(value, dict)
        ],
    }


def _phase(name):
    return shown(str(name).removesuffix("_s").replace("_", " "))


def _picture(row):
    kernels = {key: shown(row.get(key)) for key in ("kernel_before", "kernel_after")}
    drawn = _update_picture.draw({**row, **kernels}, _TOP)
    if not drawn:
        return ""
    picture, height = drawn
    # All words of a picture are escaped where it is drawn.
    return Markup(picture.svg(_update_picture.WIDTH, height, f"Timeline of {shown(row.get('name'))}"))


def _outages(rows):
    found = _outage_picture.outages(rows)
    if not found:
        return None
    shares = {"median": 0.5, "95 % of the nodes": 0.95, "longest": 1}
    return {
        "count": len(found),
        "picture": Markup(_outage_picture.draw(found)),
        "numbers": [(words, _seconds(_outage_picture.percentile(found, share))) for words, share in shares.items()],
    }


def _judged(found):
    """What was found of each metric in each soak, in order."""
    listed = found[-_JUDGED:] if isinstance(found, list) else []
    return [_judgement(each) for each in listed if isinstance(each, dict)]


def _judgement(about):
    name, verdict = shown(about.get("name")), shown(about.get("verdict"))
    other = _judgement_picture.OTHERS.get(str(about.get("control")), "compared with")
    values, control = (_judgement_picture.numbers(about.get(key)) for key in ("samples", "samples_control"))
    picture = _judgement_picture.draw(values, control, other, f"Values of {name}") if values and control else ""
    return {
        "name": name,
        "verdict": _JUDGEMENTS.get(verdict, verdict),
        "is_good": verdict not in ("high", "low"),
        "other": other,
        # All words of a picture are escaped where it is drawn.
        "picture": Markup(picture),
        **{
            key: f"{about[key]:.4g}" if _judgement_picture.is_number(about.get(key)) else ""
            for key in ("median", "median_control", "estimate", "low", "high", "p")
        },
    }


def _results(nodes, about):
    """What each result of this rollout means, and what to do: those that need attention first."""
    found = []
    for result, means in _report.RESULTS.items():
        mine = [node for node in nodes if node["result"] == result]
        if mine:
            found.append(
                {
                    "words": result.replace("_", " "),
                    "means": means,
                    "advice": _report.advice(result, about),
                    "is_good": mine[0]["is_good"],
                    "count": len(mine),
                    "nodes": [] if mine[0]["is_good"] else mine,
                }
            )
    return sorted(found, key=lambda each: each["is_good"])


def _list(value):
    return value[:_MOST] if isinstance(value, list) else []


def _pairs(value):
    return list(value.items())[:_MOST] if isinstance(value, dict) else []
