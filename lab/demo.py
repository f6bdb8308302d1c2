"""Update a fleet of virtual machines under load from one kernel to another, and count the losses.

Leaves build/demo/report.json. Ends with 0 only if every node is committed and has every key and every connection.
"""

import argparse
import json
import shutil
import signal
import sys
import time

from . import clients, fleet, outcome
from .command import LabError, say
from .paths import REPO
from .report import read_report
from .rollout import Rollout

NAME = "demo"
OUT = REPO / "build" / "demo"


def arguments():
    parser = argparse.ArgumentParser(prog="python3 -m lab.demo", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--nodes", type=int, default=3, help="(default: %(default)s)")
    fleet.add_arguments(parser)
    args = parser.parse_args()
    if not 1 <= args.keys <= 10**8:
        parser.error(f"--keys {args.keys}: expected 1 to 100000000")
    return args


def update(engine, kernel):
    """Run the rollout with its output on the terminal; return (exit code, its report)."""
    variables = {"kup_kernel": kernel, "kup_engine": engine, "kup_report_dir": str(OUT / "rollout")}
    return Rollout(NAME, OUT / "rollout.log", variables).wait(), read_report(OUT / "rollout")


def demonstrate(args):
    """Return the exit code of the demo."""
    begin = time.monotonic()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    with fleet.fleet(NAME, args.nodes, args, OUT) as lab:
        load = clients.Clients(lab, OUT)
        say(f"filling {args.nodes} nodes with {args.keys} keys each")
        load.fill(args.keys)
        load.start(args.keys)
        say(f"a client with {1 + clients.IDLE} connections and a prober is at work on every node; the rollout begins")
        try:
            code, report = update(args.engine, lab.record["image"]["kernel_to"])
            load.settle()
        finally:
            loads = load.stop()
        say("comparing every key")
        merged = outcome.merge(list(lab.machines), report, loads, load.verify(args.keys))
    merged["lab"] = lab.record["image"] | {
        "nodes": args.nodes,
        "cpus": args.cpus,
        "mem_mib": lab.record["mem"],
        "cmdline": lab.record["cmdline"],
    }
    merged["rollout"]["exit_code"] = code
    path = OUT / "report.json"
    path.write_text(json.dumps(merged, indent=2) + "\n", encoding="utf-8")
    print(f"\n{outcome.table(merged)}\n\n{outcome.phases(merged)}\n\n{path} ({time.monotonic() - begin:.0f} s)")
    broken = outcome.broken_promises(merged) + ([f"The rollout ended with {code}, expected 0."] if code else [])
    for sentence in broken:
        print(f"demo: {sentence}", file=sys.stderr)
    return 1 if broken else 0


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    args = arguments()
    try:
        sys.exit(demonstrate(args))
    except LabError as error:
        sys.exit(f"demo: {error}")
    except KeyboardInterrupt:
        sys.exit("demo: interrupted")


if __name__ == "__main__":
    main()
