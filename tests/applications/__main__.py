"""Carry applications of Debian through updates of a virtual machine, all on one node, and record what became of each.

    python3 -m tests.applications [--engine foam|ppp|criu] [--way update|fallback|second] [--only NAME...]
    python3 -m tests.applications --table      write docs/applications.md from docs/applications.json
    python3 -m tests.applications --list       the applications

fallback: the gate of the update passes on the old kernel only. second: that, and then an update which is kept.
"""

import argparse

from tests import suite
from tests.applications import record, trip
from tests.applications.declared import RELEASE, Application, names, packages
from tests.cases.record import nowhere


def arguments():
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.applications",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--engine", choices=("criu", "foam", "ppp"), default="foam", help="(default: %(default)s)")
    parser.add_argument("--way", choices=tuple(trip.WAYS), default="update", help="(default: %(default)s)")
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        choices=names(),
        help="these (default: all that need no machine of another kind)",
    )
    parser.add_argument(
        "--release", choices=("12", "13"), default=RELEASE, help="Debian's, of the node (default: %(default)s)"
    )
    parser.add_argument("--mem", type=int, default=trip.MEMORY, metavar="MIB", help="memory (default: %(default)s)")
    parser.add_argument("--no-record", action="store_true", help="leave docs/applications.json as it is")
    suite.add_node(parser)
    parser.add_argument("--lab", default="applications", metavar="NAME", help="the lab's name (default: %(default)s)")
    parser.add_argument("--table", action="store_true", help="write docs/applications.md and boot nothing")
    parser.add_argument("--list", action="store_true", help="print the applications and boot nothing")
    found = parser.parse_args()
    suite.check_node(parser, found)
    return found


def work(args):
    """Do what ARGS ask for; return sentences: results that no application may have."""
    if args.list:
        for name in names():
            print(f"{name:<16} {Application(name).says}")
        return []
    if args.table:
        record.write_page()
        return []
    known = [Application(name, args.release) for name in names(args.release)]
    chosen = [one for one in known if (one.name in args.only if args.only else not one.LAB)]
    strange = sorted(set(args.only or ()) - {one.name for one in chosen})
    if strange:
        return [f"{', '.join(strange)}: not declared for Debian {args.release} (RELEASES)."]
    # One image has all of them; another node has what goes on the trip.
    others = [] if args.node else [one for one in known if one not in chosen]
    return trip.run(args, chosen, others, packages([*chosen, *others]), nowhere if args.no_record else record.append)


if __name__ == "__main__":
    options = arguments()
    suite.end("applications", lambda: work(options))
