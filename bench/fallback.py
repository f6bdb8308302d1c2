"""How long a node is away that falls back, beside a good update by the same engine, on one node in one run.

By engine: a good update; one whose restore fails; one whose node judges itself and goes back; one whose kernel panics before the
restore; one whose kernel panics when clients have had the application on trial for a while. Each outage is the longest time in which a
client could not connect. The numbers are kept in tests/faults/outages.json, from which docs/faults.md is made. Nothing else should run
on the machine meanwhile.
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/faults"))

import cases
import page
import run
from command import LabError, say
from fleet import lab_verb

NAME = "fallback"
# Point, fault, its word, and seconds after the point.
WAYS = {
    "the restore failed": ("restoring", "kill", "criu", 0.1),
    "its own checks failed": ("trial", "check", "", 0),
    "panic before the restore": ("attached", "panic", "", 0),
    "panic on trial": ("trial", "panic", "", 30),
}


def away(node, engine, reason):
    """The outage of one update, in seconds.

    :raises LabError: it did not fall back, or not as it must.
    """
    if reason == page.GOOD:
        return run.usable(node, engine)
    point, fault, word, seconds = WAYS[reason]
    result = run.inject(node, cases.Case(engine, point, fault, word), seconds)
    if result["phase"] != "fell_back" or result["wrong"]:
        raise LabError(f"The update by {engine} after '{reason}' ended as {result}, expected one that fell back.")
    return result["outage_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--turns", type=int, default=1, help="of all (default: %(default)s)")
    parser.add_argument("engines", nargs="*", default=cases.ENGINES, metavar="ENGINE", help="default: all")
    args = parser.parse_args()
    reasons = (page.GOOD, *WAYS)
    found = [{"engine": engine, "outages_s": {reason: [] for reason in reasons}} for engine in args.engines]
    out = run.REPO / "build" / NAME
    out.mkdir(parents=True, exist_ok=True)
    try:
        node = run.open_node(NAME, out)
        for _turn in range(args.turns):
            for one in found:
                for reason in reasons:
                    seconds = away(node, one["engine"], reason)
                    one["outages_s"][reason].append(seconds)
                    say(f"{one['engine']}, {reason}: {seconds} s")
    except LabError as error:
        sys.exit(f"fallback: {error}")
    finally:
        lab_verb("down", "--name", NAME)
    page.OUTAGES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
