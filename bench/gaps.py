"""How long clients with old connections wait in an update, beside the outage: with kup_revert_backoff and kup_park_connections, with one
of them and with neither, in turn on one node.

    python3 -m bench.gaps [--turns 5] [--engine foam] [--mib 256] [--ways none,revert,park,both]

Clients ask by connections that live through the update, and by new ones (asker.py). Both times are by the client's clock, as the timers of
its TCP are. Prints the medians of all turns, and of the gaps the longest as well; leaves build/bench/gaps.json.
"""

import argparse
import itertools
import json
import signal
import sys
from statistics import median

from bench.engines import OUT, node, start, update
from lab import results
from lab.command import LabError, say

# Way → kup_revert_backoff, kup_park_connections
WAYS = {"none": (False, False), "revert": (True, False), "park": (False, True), "both": (True, True)}


def some_of(names):
    """Type of an argument: some of ``names``, comma separated."""

    def chosen(text):
        found = text.split(",")
        if not set(found) <= set(names):
            raise argparse.ArgumentTypeError(f"{text}, expected some of {','.join(names)}")
        return found

    return chosen


def arguments():
    parser = argparse.ArgumentParser(prog="python3 -m bench.gaps", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--turns", type=int, default=5, help="of each way (default: %(default)s)")
    parser.add_argument("--engine", default="foam", help="(default: %(default)s)")
    parser.add_argument("--mib", type=int, default=256, help="the application's memory (default: %(default)s)")
    parser.add_argument("--ways", type=some_of(WAYS), default=list(WAYS), help=f"of {','.join(WAYS)} (default: all)")
    return parser.parse_args()


def table(runs):
    """Return RUNS, {way: [what each update has measured]}, as a text; times are seconds."""
    rows = [f"{'way':<20}{'outage':>9}{'gap p50':>9}{'p95':>9}{'longest':>9}{'p95 / outage':>14}"]
    for way, found in runs.items():
        outage = median(each["outage_on_host_s"] for each in found)
        gaps = sorted(gap for each in found for gap in each["gaps_s"])
        p95 = gaps[len(gaps) * 95 // 100]
        rows.append(f"{way:<20}{outage:>9.2f}{median(gaps):>9.2f}{p95:>9.2f}{gaps[-1]:>9.2f}{p95 / outage:>14.2f}")
    return "\n".join(rows)


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    args = arguments()
    OUT.mkdir(parents=True, exist_ok=True)
    runs = {way: [] for way in args.ways}
    try:
        with node(args.mib) as lab:
            kernels = itertools.cycle((lab.record["image"]["kernel_to"], lab.record["image"]["kernel_from"]))
            start(lab, args.mib, rate=1000)
            for _turn in range(args.turns):
                for way in args.ways:
                    reverts, parks = WAYS[way]
                    variables = {"kup_revert_backoff": reverts, "kup_park_connections": parks}
                    found = update(lab, args.engine, next(kernels), args.mib, **variables)
                    runs[way].append(found)
                    say(f"{way}: outage {found['outage_on_host_s']:.2f} s, longest gap {found['gaps_s'][-1]:.2f} s")
                    kept = {"commit": results.commit(), "engine": args.engine, "mib": args.mib, "runs": runs}
                    (OUT / "gaps.json").write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    except LabError as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
    print(table(runs))


if __name__ == "__main__":
    main()
