"""What a rollout costs its controller, by the number of nodes: the real playbook, with nodes that a table answers for (tests/rollout).

    python3 -m bench.controller [--hosts 10,100,1000,2000] [--forks 20] [--keep]

Modules are packed and sent as to real nodes; the connection itself, and the nodes' time, are not in it. Prints the processor time for each node,
the time by the clock, and the memory of the largest process, and the line that fits the processor time best. Leaves
build/bench/controller.json and controller.png; --keep writes them to the folders of recorded figures, bench and docs.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import linear_regression

from bench import figure
from lab import results
from lab.command import say
from lab.paths import REPO
from tests.rollout.nodes import Rollout

OUT = REPO / "build" / "bench"
VARIABLES = {"kup_kernel": "7.2", "kup_units": ["memcached.service"]}
LIMIT = 6 * 3600  # seconds of one run


def arguments():
    parser = argparse.ArgumentParser(prog="python3 -m bench.controller", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument(
        "--hosts", default="10,100,1000,2000", help="numbers of nodes, comma separated (default: %(default)s)"
    )
    parser.add_argument("--forks", type=int, default=20, help="(default: %(default)s)")
    parser.add_argument("--keep", action="store_true", help="replace the recorded figures")
    parser.add_argument("--one", type=int, metavar="HOSTS", help=argparse.SUPPRESS)
    return parser.parse_args()


def one(hosts, forks):
    """Update HOSTS nodes in a process that does nothing else; return what that cost."""
    with tempfile.TemporaryDirectory() as folder:
        rollout = Rollout(Path(folder), {f"node{number:05}": {} for number in range(hosts)})
        before = time.monotonic()
        done = rollout.run("--forks", str(forks), limit=LIMIT, **VARIABLES)
        wall = time.monotonic() - before
    committed = list(done.results.values()).count("committed")
    if done.code or committed != hosts:
        sys.exit(
            f"bench: {committed} of {hosts} nodes were committed, the rollout ended with {done.code}:\n{done.output[-2000:]}"
        )
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "hosts": hosts, "forks": forks, "cpu_s": round(used.ru_utime + used.ru_stime, 2), "wall_s": round(wall, 2),
        "max_rss_mb": round(used.ru_maxrss / 1024, 1), "lines": len(done.output.splitlines()),
    }  # fmt: skip


def measure(hosts, forks):
    words = [sys.executable, "-m", "bench.controller", "--one", str(hosts), "--forks", str(forks)]
    done = subprocess.run(words, cwd=REPO, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def table(runs):
    """Return RUNS as a text for a person."""
    rows = [f"{'hosts':>6}{'CPU s a node':>14}{'CPU s':>10}{'wall s':>10}{'MB':>8}{'lines a node':>14}"]
    for run in runs:
        each = (
            f"{run['cpu_s'] / run['hosts']:>14.2f}{run['cpu_s']:>10.1f}{run['wall_s']:>10.1f}{run['max_rss_mb']:>8.0f}"
        )
        rows.append(f"{run['hosts']:>6}{each}{run['lines'] / run['hosts']:>14.1f}")
    if len(runs) > 1:
        slope, start = linear_regression([run["hosts"] for run in runs], [run["cpu_s"] for run in runs])
        rows.append(f"CPU s = {start:.1f} + {slope:.2f} × hosts")
    return "\n".join(rows)


def main():
    args = arguments()
    if args.one:
        print(json.dumps(one(args.one, args.forks)))
        return
    OUT.mkdir(parents=True, exist_ok=True)
    runs, commit = [], results.commit()
    data, picture = (REPO / "bench", REPO / "docs") if args.keep else (OUT, OUT)
    for hosts in map(int, args.hosts.split(",")):
        runs.append(measure(hosts, args.forks))
        say(f"{hosts} nodes: {runs[-1]['cpu_s']:.1f} s of processor time")
        text = json.dumps({"commit": commit, "processors": os.cpu_count(), "runs": runs}, indent=2)
        (data / "controller.json").write_text(text + "\n", encoding="utf-8")
    print(f"\n{table(runs)}\ncommit {commit}")
    figure.draw_plain(
        picture / "controller.png",
        {"a rollout": [(run["hosts"], run["cpu_s"]) for run in runs]},
        "nodes",
        "processor time, s",
    )


if __name__ == "__main__":
    main()
