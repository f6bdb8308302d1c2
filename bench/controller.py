"""What a rollout costs its controller, by the number of nodes: the real playbook, with nodes that a table answers for (tests/rollout).

    python3 -m bench.controller [--hosts 10,100,1000,2000] [--ssh 20] [--forks 20] [--keep]

Modules are packed and sent as to real nodes; the connection itself, and the nodes' time, are not in it. What ssh(1) costs beside is told by a
rollout of a few nodes behind an sshd(8) of the bench, whose own time does not count. Prints the processor time for each node,
the time by the clock, and the memory of the largest process, and the line that fits the processor time best. A processor's second is
worth what its machine makes of it: each run says how long a fixed loop took just before and after it (pace_s). Leaves
build/bench/controller.json and controller.png; --keep copies them to the folders of recorded figures, bench and docs. A bench that was stopped
goes on with the sizes that are missing, as long as it measures the same commit.
"""

import argparse
import contextlib
import ctypes
import json
import os
import resource
import shutil
import signal
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
from tests.rollout import over_ssh
from tests.rollout.nodes import Rollout

OUT = REPO / "build" / "bench"
# As a user has it who sets nothing else; tests/rollout leaves the rehearsal out.
VARIABLES = {"kup_kernel": "7.2", "kup_units": ["memcached.service"], "kup_rehearse": "dump"}
LIMIT = 6 * 3600  # seconds of one run
PACE = 20_000_000  # turns of the loop that tells the machine's pace
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER (include/uapi/linux/prctl.h)


def arguments():
    parser = argparse.ArgumentParser(prog="python3 -m bench.controller", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument(
        "--hosts", default="10,100,1000,2000", help="numbers of nodes, comma separated (default: %(default)s)"
    )
    parser.add_argument(
        "--ssh", type=int, default=20, help="number of nodes behind ssh, 0: none (default: %(default)s)"
    )
    parser.add_argument("--forks", type=int, default=20, help="(default: %(default)s)")
    parser.add_argument("--keep", action="store_true", help="replace the recorded figures")
    parser.add_argument("--one", type=int, metavar="HOSTS", help=argparse.SUPPRESS)
    parser.add_argument("--reached", type=json.loads, default={}, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def names(hosts):
    return [f"node{number:05}" for number in range(hosts)]


def pace():
    """Return the processor seconds of a loop that is always the same."""
    before, total = time.process_time(), 0
    for number in range(PACE):
        total += number * number
    return time.process_time() - before


def one(folder, hosts, forks, reached):
    """Update HOSTS nodes in a process that does nothing else; return what that cost. Those of REACHED have these variables."""
    # Shared connections of ssh outlive what has started them, and count.
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    rollout = Rollout(folder, dict.fromkeys(names(hosts), {}), reached=reached)
    at_first = pace()
    before = time.monotonic()
    done = rollout.run("--forks", str(forks), limit=LIMIT, **VARIABLES)
    wall = time.monotonic() - before
    committed = list(done.results.values()).count("committed")
    if done.code or committed != hosts:
        sys.exit(
            f"bench: {committed} of {hosts} nodes were committed, the rollout ended with {done.code}:\n{done.output[-2000:]}"
        )
    end_children()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "hosts": hosts, "forks": forks, "cpu_s": round(used.ru_utime + used.ru_stime, 2), "wall_s": round(wall, 2),
        "max_rss_mb": round(used.ru_maxrss / 1024, 1), "lines": len(done.output.splitlines()), "pace_s": round((at_first + pace()) / 2, 2),
    }  # fmt: skip


def end_children():
    """End what the rollout has left running, and wait for it."""
    own = Path(f"/proc/self/task/{os.getpid()}/children")
    for pid in map(int, own.read_text(encoding="ascii").split()):
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)


def measure(hosts, forks, is_ssh=False):
    """Return what `one` has found, in a process of its own; IS_SSH: of nodes behind ssh."""
    with tempfile.TemporaryDirectory() as scratch:
        # The rollout packs its modules for itself: that counts.
        folder, place = Path(scratch, "run", "rollout"), Path(scratch, "sshd")
        folder.mkdir(parents=True)
        place.mkdir()
        serving = over_ssh.serving(place, folder / "nodes", names(hosts)) if is_ssh else contextlib.nullcontext({})
        with serving as reached:
            words = [
                "--one",
                str(hosts),
                "--forks",
                str(forks),
                "--folder",
                str(folder),
                "--reached",
                json.dumps(reached),
            ]
            command = [sys.executable, "-m", "bench.controller", *words]
            done = subprocess.run(command, cwd=REPO, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def table(found):
    """Return the figures as a text for a person."""
    runs = found["runs"]
    rows = [f"{'hosts':>6}{'CPU s a node':>14}{'CPU s':>10}{'wall s':>10}{'MB':>8}{'lines a node':>14}{'pace s':>9}"]
    for run in [*runs, *found["over_ssh"]]:
        each = (
            f"{run['cpu_s'] / run['hosts']:>14.2f}{run['cpu_s']:>10.1f}{run['wall_s']:>10.1f}{run['max_rss_mb']:>8.0f}"
        )
        rows.append(
            f"{run['hosts']:>6}{each}{run['lines'] / run['hosts']:>14.1f}{run['pace_s']:>9.2f}{'  ssh' if run.get('ssh') else ''}"
        )
    if len(runs) > 1:
        slope, start = linear_regression([run["hosts"] for run in runs], [run["cpu_s"] for run in runs])
        rows.append(f"CPU s = {start:.1f} + {slope:.2f} × hosts")
    return "\n".join(rows)


def begun(path):
    """Return what an earlier start of this bench has found with this commit on this machine."""
    found = {"commit": results.commit(), "processors": os.cpu_count(), "over_ssh": [], "runs": []}
    with contextlib.suppress(FileNotFoundError):
        earlier = json.loads(path.read_text(encoding="utf-8"))
        if {**earlier, "over_ssh": [], "runs": []} == found and not found["commit"].endswith("dirty"):
            return earlier
    return found


def missing(args, found):
    """Yield the runs that have not been found: name of the list, number of nodes, whether they are behind ssh."""
    done = {(run["hosts"], run["forks"], run.get("ssh")) for run in (*found["over_ssh"], *found["runs"])}
    wanted = [("over_ssh", args.ssh, is_ssh) for is_ssh in (False, True) if args.ssh]
    wanted += [("runs", int(hosts), None) for hosts in args.hosts.split(",")]
    yield from (each for each in wanted if (each[1], args.forks, each[2]) not in done)


def main():
    args = arguments()
    if args.one:
        print(json.dumps(one(args.folder, args.one, args.forks, args.reached)))
        return
    OUT.mkdir(parents=True, exist_ok=True)
    data, picture = OUT / "controller.json", OUT / "controller.png"
    found = begun(data)
    for name, hosts, is_ssh in missing(args, found):
        run = measure(hosts, args.forks, bool(is_ssh))
        found[name].append(run if is_ssh is None else {**run, "ssh": is_ssh})
        say(f"{hosts} nodes: {run['cpu_s']:.1f} s of processor time")
        data.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(f"\n{table(found)}\ncommit {found['commit']}")
    figure.draw_plain(
        picture,
        {"a rollout": [(run["hosts"], run["cpu_s"]) for run in found["runs"]]},
        "nodes",
        "processor time, s",
    )
    if args.keep:
        shutil.copy(data, REPO / "bench")
        shutil.copy(picture, REPO / "docs")


if __name__ == "__main__":
    main()
