"""docs/faults.md, from the results of the faults that were injected and the outages of the nodes that fell back."""

import json
import pathlib
import statistics

from tests.faults import cases

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "faults.md"
# Of tests/faults/outages.py: a list with one dict for each engine: its outages in seconds by what sent the node back, or by this, and which
# memory the application had then.
OUTAGES = HERE / "outages.json"
GOOD = "good"


def write(found):
    """Write the page.

    :param found: the results, dicts.
    """
    PAGE.write_text(table(found, json.loads(OUTAGES.read_text(encoding="utf-8"))), encoding="utf-8")


def table(found, outages):
    """The results as a page."""
    found = list({result["case"]: result for result in found}.values())  # one that came too late was tried again
    rows = {}
    for result in found:
        rows.setdefault((result["point"], result["fault"]), {})[result["engine"]] = result
    lines = [
        "# What faults do to an update",
        "",
        f"{len(found)} faults, each in an update of its own on a virtual machine (`make torture`). {sum(result['fired'] for result in found)}"
        " struck before the update was over,",
        f"and {sum(bool(result['wrong']) for result in found)} had a consequence that none may have: wrong bytes, a unit that does not run,"
        " a node that is lost, something left",
        "behind, memory that is not the one that the record tells of, or a node that takes no further update.",
        "",
        "A cell has what came of it, which memory the application had then (*running*: as it was; *checkpoint*: of the freeze; *fresh*: none),",
        "and the longest time in which nobody could connect to it, in seconds on an emulated processor.",
        "",
        *_outages(outages),
        "",
        "| point | fault | " + " | ".join(f"`{engine}`" for engine in cases.ENGINES) + " |",
        "| --- | --- |" + " --- |" * len(cases.ENGINES),
    ]
    for (point, fault), row in sorted(rows.items(), key=lambda item: (cases.POINTS.index(item[0][0]), item[0][1])):
        cells = [_cell(row[engine]) if engine in row else "" for engine in cases.ENGINES]
        lines.append(f"| {point} | {fault} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _outages(found):
    """Lines: by engine, how much longer the application was away where the node fell back."""
    if not found:
        return []
    reasons = [reason for reason in found[0]["outages_s"] if reason != GOOD]
    lines = [
        "How many times as long as in a good update by the same engine nobody could connect, where the node fell back: medians of a run",
        "alone on its machine (`tests/faults/outages.py`; its numbers are in `tests/faults/outages.json`). *fresh*: the memory was lost; `ppp` has",
        "no copy on a disk, and `ppp+foam` is there for who wants one.",
        "",
        "| engine | good update, s | " + " | ".join(reasons) + " |",
        "| --- | --- |" + " --- |" * len(reasons),
    ]
    for one in found:
        medians = {reason: statistics.median(seconds) for reason, seconds in one["outages_s"].items()}
        cells = " | ".join(f"{medians[reason] / medians[GOOD]:.2f}{_fresh(one['data'][reason])}" for reason in reasons)
        lines.append(f"| `{one['engine']}` | {medians[GOOD]:.1f} | {cells} |")
    return lines


def _fresh(data):
    return " *fresh*" if "fresh" in data else ""


def _cell(result):
    if result["wrong"]:
        return f"**wrong**: {'; '.join(result['wrong'])}"
    return f"{result['phase']}, {result['data']}, {result['outage_s']:.0f}{'' if result['fired'] else ' (too late)'}"
