"""Where a kernel's own time goes before its first process: its initcalls, by their time, on a node of the lab.

    python3 -m bench.initcalls [--words 'cryptomgr.notests …']

The node's clock counts instructions, a nanosecond each. Each of the node's two kernels is entered with `initcall_debug` and WORDS; the messages
stay in its buffer. Prints the slowest, and leaves build/bench/initcalls.json.
"""

import argparse
import json
import os
import re

from bench import engines
from bench.floor import Turns
from lab import results
from tests import suite

OUT = engines.OUT / "initcalls.json"
DEBUG = "initcall_debug log_buf_len=8M"
SHOWN = 25
_CALL = re.compile(r"initcall (\S+?)\+\S+ (?:\[(\S+)\] )?returned -?\d+ after (\d+) usecs")
_BEGIN = re.compile(r"^\[\s*([\d.]+)\].*(?:Run (\S+) as init process)", re.M)


def arguments():
    parser = argparse.ArgumentParser(prog="python3 -m bench.initcalls", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--words", default="", help="more words for the kernels' command line")
    return parser.parse_args()


def calls(log):
    """Return what a kernel's LOG says: {"init_s": its first process began, "initcalls_ms": {name: milliseconds}, the slowest first}."""
    # Those of modules come later, and are nobody's wait.
    found = {name: int(micros) / 1000 for name, module, micros in _CALL.findall(log) if not module}
    begun = _BEGIN.search(log)
    slowest = dict(sorted(found.items(), key=lambda each: each[1], reverse=True))
    return {"init_s": float(begun[1]) if begun else None, "initcalls_ms": slowest}


def table(found):
    """Return the figures as a text for a person."""
    lines = []
    for release, one in found.items():
        total = sum(one["initcalls_ms"].values())
        lines.append(f"{release}: the first process after {one['init_s']} s, {total:.0f} ms in initcalls")
        lines += [f"{ms:>9.1f} ms  {name}" for name, ms in list(one["initcalls_ms"].items())[:SHOWN]]
    return "\n".join(lines)


def work(args):
    os.environ.setdefault("KUP_LAB_ICOUNT", engines.INSTRUCTIONS)
    engines.OUT.mkdir(parents=True, exist_ok=True)
    found = {}
    with engines.node(256) as lab:
        turns = Turns(lab)
        turns.prepare()
        for release in (turns.new, turns.old):
            found[release] = calls(turns.log(release, f"{DEBUG} {args.words}".rstrip()))
    OUT.write_text(
        json.dumps({"commit": results.commit(), "words": args.words, "kernels": found}, indent=1) + "\n",
        encoding="utf-8",
    )
    print(table(found))


if __name__ == "__main__":
    options = arguments()
    suite.end("bench", lambda: work(options))
