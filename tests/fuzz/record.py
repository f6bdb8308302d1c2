"""tests/fuzz/results.jsonl: each turn of each fuzz target; docs/fuzz.md, made from it."""

import collections
import pathlib

from lab import results
from lab.paths import REPO
from tests.fuzz.targets import Target

ROWS = pathlib.Path(__file__).resolve().parent / "results.jsonl"
PAGE = REPO / "docs" / "fuzz.md"


def append(row):
    results.append(ROWS, row)


def _target(row):
    return Target(row["program"], row["target"])


def spent():
    """Return {target: seconds of processor time} of all turns."""
    seconds = collections.Counter()
    for row in results.read(ROWS):
        seconds[_target(row)] += row["cpu_s"]
    return seconds


def write_page():
    PAGE.write_text(page(results.read(ROWS)), encoding="utf-8")


def page(rows):
    """Return the text of the page from ROWS, oldest first."""
    lines = [
        "# How long the parsers were fuzzed",
        "",
        "Written by `make fuzz`. What a process, a local user or a network peer can put before a program of root on a node is parsed by",
        "C code with bounds on all numbers. libFuzzer calls each parser with changed inputs, under ASan and UBSan, beginning with the inputs",
        "in `files/*/tests/corpus`. *Time* is processor time of all turns; *inputs* are those of the turns that counted them; *edges* is how",
        "many branches of the code the last turn has seen; *failures* are inputs that made a parser crash, leak, or break a bound.",
        "",
        "| program | target | time | inputs | edges | failures |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    turns = collections.defaultdict(list)
    for row in rows:
        turns[_target(row)].append(row)
    for target, its in sorted(turns.items()):
        total = {name: sum(row[name] or 0 for row in its) for name in ("cpu_s", "units", "failures")}
        lines.append(
            f"| {target.program} | {target.name} | {total['cpu_s'] / 60:.0f} min | {total['units']} | {its[-1]['edges'] or '-'} | "
            f"{total['failures']} |"
        )
    return "\n".join([*lines, "", results.by_commit(rows)]) + "\n"
