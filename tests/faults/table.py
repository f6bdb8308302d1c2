"""docs/faults.md: a table of the results of all faults, and of the outages of nodes that fell back."""

import json
import pathlib
import statistics

from lab import results
from tests.faults import cases

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "faults.md"
# Written by outages.py: a list with a dict for each engine: its outages in seconds by the reason of the fallback, or GOOD for an
# update that is kept, and the application's memory afterwards.
OUTAGES = HERE / "outages.json"
GOOD = "good"


def write(rows):
    """Write the page from the rows of results.jsonl."""
    PAGE.write_text(page(rows, json.loads(OUTAGES.read_text(encoding="utf-8"))), encoding="utf-8")


def page(rows, outages):
    """Return the text of the page."""
    # A fault that came too late was tried again: its last result counts.
    last = list({row["case"]: row for row in rows}.values())
    fired, wrong = sum(row["fired"] for row in last), sum(bool(row["wrong"]) for row in last)
    lines = [
        "# What faults do to an update",
        "",
        f"`make torture` injects each of {len(last)} faults into an update of its own on a virtual machine. {fired} struck before the update"
        " was over.",
        f"{wrong} had a consequence that no fault may have: wrong bytes, a unit that does not run, a node that is lost, something left behind,",
        "memory that is not what the record says, or a node that takes no further update.",
        "",
        "A cell has the outcome, the application's memory afterwards (*running*: as it was; *checkpoint*: as at the freeze; *fresh*: lost),",
        "and the longest time without a connection to it, in seconds on an emulated processor.",
        "",
        results.by_commit(last),
        "",
        *_outages(outages),
        "",
        *_victims(last),
        "",
        "| point | fault | " + " | ".join(f"`{engine}`" for engine in cases.ENGINES) + " |",
        "| --- | --- |" + " --- |" * len(cases.ENGINES),
    ]
    by_fault = {}
    for row in (row for row in last if not row.get("victim")):
        by_fault.setdefault((row["point"], row["fault"]), {})[row["engine"]] = row
    for (point, fault), found in sorted(
        by_fault.items(), key=lambda item: (cases.POINTS.index(item[0][0]), item[0][1])
    ):
        cells = [_cell(found[engine]) if engine in found else "" for engine in cases.ENGINES]
        lines.append(f"| {point} | {fault} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _victims(rows):
    """Return lines: by application and engine, how many faults there were, and how many with what none may have."""
    lines = [
        "`patterns.service`, a program of these tests that knows what each byte of its memory should be, is on all nodes. Beside it an",
        "application of Debian is carried, with a client that has a transaction, half a request or the like under way. How many faults",
        "struck; the outcomes below are those of the node without such an application, those of the others are in",
        "`tests/faults/results.jsonl`.",
        "",
        "| application | " + " | ".join(f"`{engine}`" for engine in cases.ENGINES) + " | wrong |",
        "| --- | --- |" + " --- |" * len(cases.ENGINES),
    ]
    for name in sorted({row.get("victim", "") for row in rows}):
        its = [row for row in rows if row.get("victim", "") == name]
        struck = [str(sum(row["fired"] for row in its if row["engine"] == engine)) for engine in cases.ENGINES]
        wrong = "; ".join(f"**{row['case']}**: {' '.join(row['wrong'])}" for row in its if row["wrong"])
        lines.append(f"| {name or 'none'} | {' | '.join(struck)} | {wrong or 0} |")
    return lines


def _outages(found):
    """Return lines: by engine, the outage of a fallback as a multiple of a good update's."""
    if not found:
        return []
    reasons = [reason for reason in found[0]["outages_s"] if reason != GOOD]
    lines = [
        "The outage of a fallback as a multiple of the outage of a good update by the same engine: medians of a run alone on its machine",
        "(`tests/faults/outages.py`; its numbers are in `tests/faults/outages.json`). *fresh*: the memory was lost; `ppp` has no copy on a",
        "disk, `ppp+foam` has one.",
        "",
        "| engine | commit | good update, s | " + " | ".join(reasons) + " |",
        "| --- | --- | --- |" + " --- |" * len(reasons),
    ]
    for one in found:
        medians = {reason: statistics.median(seconds) for reason, seconds in one["outages_s"].items()}
        cells = " | ".join(f"{medians[reason] / medians[GOOD]:.2f}{_fresh(one['data'][reason])}" for reason in reasons)
        commit = one.get("commit", results.UNKNOWN)
        lines.append(f"| `{one['engine']}` | {commit} | {medians[GOOD]:.1f} | {cells} |")
    return lines


def _fresh(data):
    return " *fresh*" if "fresh" in data else ""


def _cell(row):
    if row["wrong"]:
        return f"**wrong**: {'; '.join(row['wrong'])}"
    return f"{row['phase']}, {row['data']}, {row['outage_s']:.0f}{'' if row['fired'] else ' (too late)'}"
