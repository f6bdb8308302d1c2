"""Carry the cases of units/ through updates of a virtual machine, and record what became of each.

    python3 -m tests.cases [--engine foam|ppp] [--way update|fallback|panic|unseen] [--only NAME...] [--slice MINUTES]
    python3 -m tests.cases --table      write docs/cases.md from docs/cases.json
    python3 -m tests.cases --list       the cases

Without --only: the cases that have no result on this commit yet. Several cases go in one update; one that spoils it is noted, and the
others go again without it. Each result is recorded at once, so a slice can be stopped at any time. Slices beside each other, also of other
working trees, need labs of different names (--lab).
"""

import argparse
import random

from lab.command import LabError, say
from tests import suite
from tests.cases import choose, record, table, unseen
from tests.cases.guest.declared import Case, names
from tests.cases.slice import Slice


def arguments():
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.cases", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engine", choices=("criu", "foam", "ppp"), default="foam", help="(default: %(default)s)")
    parser.add_argument(
        "--way", choices=("update", "fallback", "panic", unseen.WAY), default="update",
        help="fallback: an update, then the way back; unseen: without preflight's checks (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        type=lambda name: name.replace("_", "-"),
        choices=names(),
        help="these cases, recorded or not",
    )
    parser.add_argument(
        "--slice", type=float, default=28, metavar="MINUTES", help="no update begins later (default: %(default)s)"
    )
    parser.add_argument(
        "--sample", type=int, metavar="COUNT", help="so many cases whose last result was right; record nothing"
    )
    parser.add_argument("--seed", type=int, help="of the sample (default: another one each time)")
    parser.add_argument("--together", action="store_true", help="also those in one update that usually go alone")
    parser.add_argument(
        "--updates", type=int, default=1, metavar="COUNT",
        help="so many updates one after the other, to the new kernel and to the old one in turn (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--no-record", action="store_true", help="leave docs/cases.json as it is")
    parser.add_argument(
        "--before", action="store_true", help="record what the cases did before this work (before.json)"
    )
    parser.add_argument("--lab", default="cases", metavar="NAME", help="the lab's name (default: %(default)s)")
    suite.add_node(parser)
    parser.add_argument("--table", action="store_true", help="write docs/cases.md and boot nothing")
    parser.add_argument("--list", action="store_true", help="print the cases and boot nothing")
    args = parser.parse_args()
    if args.updates != 1 and args.way != "update":
        parser.error(f"--updates {args.updates} does not go with --way {args.way}: expected --way update.")
    suite.check_node(parser, args)
    return args


def run(args):
    """Run a slice; return sentences: results that no case may have."""
    cases = [Case(name) for name in names()]
    rows = record.read()
    if args.only:
        cases = [case for case in cases if case.name in args.only]
    elif args.sample:
        seed = args.seed if args.seed is not None else random.randrange(1 << 32)
        say(f"seed {seed}")
        cases = choose.sample(cases, rows, args.engine, args.way, args.sample, random.Random(seed))
    else:
        cases = choose.open_cases(cases, rows, args.engine, args.way, record.commit())
    cases = [case for case in cases if (case.UNSEEN if args.way == unseen.WAY else args.way in case.WAYS)]
    if not cases:
        raise LabError(
            f"There is nothing to run: expected cases that go the way {args.way}, and have no result on this commit."
        )
    note = record.nowhere if args.sample or args.no_record else record.before if args.before else record.append
    return unseen.run_all(args, cases, note) if args.way == unseen.WAY else Slice(args, note).run(cases)


def work(args):
    """Do what ARGS ask for; return sentences: results that no case may have."""
    if args.list:
        for case in map(Case, names()):
            print(f"{case.name:<18} {case.says}")
        return []
    if args.table:
        table.write(record.read())
        return []
    return run(args)


if __name__ == "__main__":
    options = arguments()
    suite.end("cases", lambda: work(options))
