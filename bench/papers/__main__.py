"""The paper's evaluation, with this collection and Debian's packages.

    python3 -m bench.papers [--parts cache,database,web,many] [--engine foam|ppp|criu]
    python3 -m bench.papers --table      write docs/papers.md from bench/papers.json

Each part boots a node of its own, and replaces its figures in bench/papers.json when it is over. Nothing else should run on the machine.
"""

import argparse
import json
import pathlib

from bench.papers import cache, database, many, page, web
from lab import results
from lab.command import say
from tests import suite

PARTS = {"cache": cache, "database": database, "web": web, "many": many}
KEPT = pathlib.Path(__file__).resolve().parents[1] / "papers.json"


def arguments():
    parser = argparse.ArgumentParser(
        prog="python3 -m bench.papers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default=",".join(PARTS), help="(default: %(default)s)")
    parser.add_argument("--engine", choices=("criu", "foam", "ppp"), default="ppp", help="(default: %(default)s)")
    parser.add_argument("--table", action="store_true", help="write docs/papers.md and measure nothing")
    return parser.parse_args()


def read():
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}


def work(args):
    """Do what ARGS ask for."""
    if args.table:
        page.write(read(), PARTS)
        return
    commit = results.commit()
    for name in args.parts.split(","):
        found = {"commit": commit, "engine": args.engine, **PARTS[name].measure(args)}
        KEPT.write_text(json.dumps(read() | {name: found}) + "\n", encoding="utf-8")
        say("\n".join([name, *PARTS[name].tell(found)]))


if __name__ == "__main__":
    options = arguments()
    suite.end("bench", lambda: work(options))
