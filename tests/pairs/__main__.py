"""Take a node with a memcached in use from kernel to kernel, in every order that fleets meet, and record what became of each update.

    python3 -m tests.pairs [--minutes N] [--only REGEX] [--engine foam|criu] [--again]
    python3 -m tests.pairs --table      write docs/pairs.md from docs/pairs.json

A slice tries pairs that have no result, and records each at once, so it can be stopped at any time. The engine ppp needs a module for
each kernel: `make kmod` tries it.
"""

import argparse
import re

from tests import suite
from tests.cases.record import nowhere
from tests.pairs import record, tour


def arguments():
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.pairs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=28, help="no update begins later (default: %(default)s)")
    parser.add_argument("--only", type=re.compile, default="", metavar="REGEX", help="kernel releases (default: all)")
    parser.add_argument("--engine", choices=("criu", "foam"), default="foam", help="(default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="also pairs that have a result")
    parser.add_argument("--no-record", action="store_true", help="leave docs/pairs.json as it is")
    parser.add_argument("--lab", default="pairs", metavar="NAME", help="the lab's name (default: %(default)s)")
    parser.add_argument("--table", action="store_true", help="write docs/pairs.md and boot nothing")
    return parser.parse_args()


def work(args):
    """Do what ARGS ask for; return sentences: updates that were not kept, or lost something."""
    if args.table:
        record.write_page()
        return []
    return tour.run(args, nowhere if args.no_record else record.append)


if __name__ == "__main__":
    options = arguments()
    suite.end("pairs", lambda: work(options))
