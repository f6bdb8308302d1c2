"""How long a node is away that falls back, beside a good update by the same engine, on one node in one run.

By engine: a good update; one whose restore fails; one whose node judges itself and goes back; one whose kernel panics before the
restore; one whose kernel panics when clients have had the application on probation for a while. Each outage is the longest time in which a
client could not connect. The numbers are kept in tests/faults/outages.json, from which docs/faults.md is made: an engine's when all
its turns are over, beside those of the engines that did not run. Nothing else should run on the machine meanwhile.
"""

import argparse
import json
import sys

from lab.command import LabError, say
from lab.fleet import lab_verb
from tests.faults import cases, page, run

NAME = "fallback"
# Point, fault, its word, and seconds after the point.
WAYS = {
    "the restore failed": ("restoring", "kill", "criu", 0.1),
    "its own checks failed": ("probation", "check", "", 0),
    "panic before the restore": ("attached", "panic", "", 0),
    "panic on probation": ("probation", "panic", "", 30),
}


def away(node, engine, reason):
    """The outage of one update, in seconds, and which memory the application had then, as in tests/faults.

    :raises LabError: it did not end as it must.
    """
    if reason == page.GOOD:
        return run.usable(node, engine), "running"
    point, fault, word, seconds = WAYS[reason]
    result = run.inject(node, cases.Case(engine, point, fault, word), seconds)
    # An engine without a copy on the disk cannot fall back from every panic: the record says so then.
    if result["phase"] not in ("fell_back", "failed") or result["wrong"]:
        raise LabError(f"The update by {engine} after '{reason}' ended as {result}, expected one that fell back.")
    return result["outage_s"], result["data"]


def keep(found):
    """Put an engine's numbers in place of its earlier ones."""
    kept = {one["engine"]: one for one in json.loads(page.OUTAGES.read_text(encoding="utf-8"))} | {
        found["engine"]: found
    }
    ordered = [kept[engine] for engine in cases.ENGINES if engine in kept]
    page.OUTAGES.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--turns", type=int, default=1, help="of each engine (default: %(default)s)")
    parser.add_argument("engines", nargs="*", default=cases.ENGINES, metavar="ENGINE", help="default: all")
    args = parser.parse_args()
    reasons = (page.GOOD, *WAYS)
    out = run.REPO / "build" / NAME
    out.mkdir(parents=True, exist_ok=True)
    try:
        node = run.open_node(NAME, out)
        for engine in args.engines:
            found = {
                "engine": engine,
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
