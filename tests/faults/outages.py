"""Measure the outage of a node that falls back, beside a good update by the same engine, on one node in one run.

By engine: a good update; a restore that fails; a node that fails its own checks and goes back; a panic before the restore; a panic
after clients have used the application on probation for a while. An outage is the longest time in which a client could not
connect. The numbers of an engine replace its earlier ones in tests/faults/outages.json when all its turns are over;
docs/faults.md is made from that file. Nothing else should run on the machine meanwhile.
"""

import argparse
import json
import sys

from lab import results
from lab.command import LabError, say
from lab.fleet import lab_verb
from lab.paths import REPO
from tests.faults import cases, table
from tests.faults.inject import inject, update
from tests.faults.machine import open_node

NAME = "fallback"
# Point, fault, its word, and seconds after the point.
WAYS = {
    "the restore failed": ("restoring", "kill", "criu", 0.1),
    "its own checks failed": ("probation", "check", "", 0),
    "panic before the restore": ("attached", "panic", "", 0),
    "panic on probation": ("probation", "panic", "", 30),
}


def away(node, engine, reason):
    """Return the outage of one update in seconds, and the application's memory afterwards (judge.py).

    :raises LabError: the update did not end as it must.
    """
    if reason == table.GOOD:
        return update(node, engine), "running"
    point, fault, word, seconds = WAYS[reason]
    result = inject(node, cases.Case(engine, point, fault, word), seconds)
    # An engine without a disk checkpoint cannot fall back from every panic; the record says so.
    if result["phase"] not in ("fell_back", "failed") or result["wrong"]:
        raise LabError(f"The update by {engine} after '{reason}' ended as {result}, expected one that fell back.")
    return result["outage_s"], result["data"]


def keep(found):
    """Put an engine's numbers in place of its earlier ones."""
    kept = {one["engine"]: one for one in json.loads(table.OUTAGES.read_text(encoding="utf-8"))} | {
        found["engine"]: found
    }
    ordered = [kept[engine] for engine in cases.ENGINES if engine in kept]
    table.OUTAGES.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--turns", type=int, default=1, help="of each engine (default: %(default)s)")
    parser.add_argument("engines", nargs="*", default=cases.ENGINES, metavar="ENGINE", help="default: all")
    args = parser.parse_args()
    reasons = (table.GOOD, *WAYS)
    out = REPO / "build" / NAME
    out.mkdir(parents=True, exist_ok=True)
    try:
        node = open_node(NAME, out)
        for engine in args.engines:
            found = {
                "engine": engine,
                "commit": results.commit(),
                "outages_s": {reason: [] for reason in reasons},
                "data": {reason: [] for reason in reasons},
            }
            for _turn in range(args.turns):
                for reason in reasons:
                    seconds, data = away(node, engine, reason)
                    found["outages_s"][reason].append(seconds)
                    found["data"][reason].append(data)
                    say(f"{engine}, {reason}: {seconds} s, {data}")
            keep(found)
    except LabError as error:
        sys.exit(f"fallback: {error}")
    finally:
        lab_verb("down", "--name", NAME)


if __name__ == "__main__":
    main()
