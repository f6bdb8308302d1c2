#!/usr/bin/python3
"""Update a fleet of virtual machines under load from one kernel to another, and count what was lost.

Leaves build/demo/report.json. Ends with 0 only if every node is committed and has every key and every connection.
"""

import argparse
import contextlib
import json
import shutil
import signal
import subprocess
import sys
import time

import clients
import outcome
from command import LabError, say
from lab import Lab
from rollout import REPO, Rollout

NAME = "demo"
OUT = REPO / "build" / "demo"
# What a node needs besides memcached, MiB: the system, and a page cache that takes a checkpoint.
SYSTEM_MIB = 384
SMALLEST_MIB = 640


def arguments():
    parser = argparse.ArgumentParser(prog="demo.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--nodes", type=int, default=3, help="(default: %(default)s)")
    parser.add_argument("--keys", type=int, default=100000, help="keys of 1 KiB per node (default: %(default)s)")
    parser.add_argument("--mem", type=int, metavar="MIB", help="memory of a node (default: what the keys need)")
    parser.add_argument("--release", default="13", help="Debian release (default: %(default)s)")
    parser.add_argument("--from", dest="old", default="6.12", metavar="SERIES", help="(default: %(default)s)")
    parser.add_argument("--to", dest="new", default="7.2", metavar="SERIES", help="(default: %(default)s)")
    parser.add_argument("--criu", default="next", help="CRIU of the release or the next one (default: %(default)s)")
    parser.add_argument("--engine", default="auto", help="memory engine (default: %(default)s)")
    args = parser.parse_args()
    if not 1 <= args.keys <= 10**8:
        parser.error(f"--keys {args.keys}: expected 1 to 100000000")
    return args


def lab_command(*words):
    """Run a verb of lab.py, whose progress lines go to the terminal."""
    code = subprocess.run([sys.executable, REPO / "molecule/lab/lab.py", *map(str, words)], check=False).returncode
    if code:
        raise LabError(f"lab.py {words[0]} ended with {code}.")


@contextlib.contextmanager
def fleet(args):
    """A lab for the time of the demo, removed whatever happens; its serial logs are kept in OUT."""
    memcached = clients.memcached_mib(args.keys)
    memory = args.mem or max(SMALLEST_MIB, memcached + SYSTEM_MIB)
    # An earlier demo may have been killed.
    lab_command("down", "--name", NAME)
    try:
        lab_command(
            "up", "--name", NAME, "--nodes", args.nodes, "--mem", memory, "--memcached", max(memcached, memory * 6 // 10),
            "--release", args.release, "--from", args.old, "--to", args.new, "--criu", args.criu,
        )  # fmt: skip
        yield Lab(NAME)
    finally:
        # Not to be left half done by a second Ctrl-C.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for log in (REPO / "build/lab" / NAME).glob("*.serial.log"):
            shutil.copy(log, OUT)
        lab_command("down", "--name", NAME)


def update(engine, kernel):
    """Run the rollout with its output on the terminal; return (exit code, its report)."""
    variables = {"kup_kernel": kernel, "kup_engine": engine, "kup_report_dir": str(OUT / "rollout")}
    rollout = Rollout(NAME, OUT / "rollout.log", variables)
    try:
        code = rollout.wait()
    except KeyboardInterrupt:
        rollout.interrupt()
        rollout.wait()
        raise
    return code, read_report(OUT / "rollout")


def read_report(folder):
    """Return the rollout's report, or an empty one if it left none."""
    try:
        return json.loads((folder / "report.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}


def demonstrate(args):
    """Return the exit code of the demo."""
    begin = time.monotonic()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    with fleet(args) as lab:
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
    merged["lab"] = lab.record["image"] | {"nodes": args.nodes, "mem_mib": lab.record["mem"]}
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
