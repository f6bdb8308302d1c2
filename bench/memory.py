"""Frozen time and time to the first right answer of a memcached, by engine and size, on one node and one kernel.

    criu        CRIU's own images        criu:N   the same after N rounds of pre-dump
    criu-lazy   `criu lazy-pages`        foam:N   this collection's page daemon after N rounds of pre-dump
    foam-pmem:N the same, its files in memory that outlives kexec

Prints for each size the figures and their ratios to plain CRIU's, and leaves build/bench/memory.json and memory.png. A
writer changes keys all the time. The node has two processors. Images are read from a cold page cache. The application's
throughput is measured at one size, before and after a cycle of the way THROUGHPUT, against that of another memcached beside
it, which is left alone. Then the writer rests, and both are without housekeeping of their own; on a machine of its own whose
clock counts instructions, so that nothing on the host makes it slower (what caches and the TLB do is not seen).
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys

from bench import figure
from lab import results
from lab.command import LabError, say
from lab.fleet import keep_consoles, lab_verb
from lab.paths import GUEST, REPO
from lab.state import Lab

NAME = "bench-memory"
OUT = REPO / "build" / "bench"
WAYS = "criu,criu:2,criu-lazy,foam:0,foam:1,foam:2,foam:3,foam:4,foam-pmem:2"
THROUGHPUT = "foam:2"
# 8 ns each, about what they take without KVM.
INSTRUCTIONS = "shift=3"
PMEM = "/var/lib/memory-disk"
# What a node needs besides memcached's memory, and what a disk needs besides images of that size, MiB; it holds the images of
# one way, rounds included.
SYSTEM_MIB = 640
PMEM_MIB = 256
ON_NODE = (REPO / "bench/on_node.py", REPO / "files/paged/paged", REPO / "plugins/module_utils/_criu/stats.py")


def arguments():
    parser = argparse.ArgumentParser(prog="python3 -m bench.memory", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument(
        "--sizes", default="256,1024,2048,4096", help="MiB, comma separated, may be empty (default: %(default)s)"
    )
    parser.add_argument("--ways", default=WAYS, help="(default: %(default)s)")
    parser.add_argument(
        "--throughput", type=float, default=300, help="seconds of each measurement; 0: none (default: %(default)s)"
    )
    parser.add_argument("--throughput-size", type=int, default=1024, help="MiB (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=500, help="sets per second (default: %(default)s)")
    parser.add_argument("--resume", action="store_true", help="keep what the last run has measured of other sizes")
    args = parser.parse_args()
    if 0 < args.throughput < 10:
        parser.error(f"--throughput is {args.throughput}, expected 0 or at least 10 seconds")
    return args


def measure(mib, cpus, words):
    """Return the cycles of one size on a node of its own, each as on_node.py prints it; WORDS: options for that."""
    lab_verb("down", "--name", NAME)
    memory, pmem = mib + mib // 4 + SYSTEM_MIB, mib + mib // 4 + PMEM_MIB
    try:
        lab_verb(
            "up",
            "--name",
            NAME,
            "--mem",
            memory + pmem,
            "--cpus",
            cpus,
            "--memcached",
            64,
            "--disk",
            8 + 4 * mib // 1024,
        )
        lab = Lab(NAME)
        machine = lab.machine("node1")
        _set_aside(lab, machine, memory, pmem)
        _send(lab, machine)
        words = ["--mib", mib, *words, "--place", "/var/lib/on-node", "--pmem", PMEM]
        command = ["python3", "/root/bench/on_node.py", *map(str, words)]
        # All processors and the disk are at work: nobody may answer for a while.
        return list(_run(lab.ssh(machine, command, silence=300)))
    finally:
        keep_consoles(NAME, OUT)
        lab_verb("down", "--name", NAME)


def measure_throughput(args):
    """Return the cycle around which throughput is measured, on a machine whose clock counts its processor's instructions."""
    os.environ["KUP_LAB_ICOUNT"] = INSTRUCTIONS
    words = ["--rate", args.rate, "--throughput", args.throughput, "--throughput-way", THROUGHPUT]
    return measure(args.throughput_size, 1, words)


def _set_aside(lab, machine, memory, pmem):
    """Give the node a disk of PMEM MiB of its memory, and leave it MEMORY."""
    total = memory + pmem
    # QEMU's pc machine has all of a small memory below 4 GiB, its tables at the very end, and of a large one 3 GiB there.
    start = memory - 64 if total < 3584 else 4096 + memory - 3072
    _script(lab, machine, "memory_disk.sh", f"{pmem}M!{start}M")
    lab_verb("reset", "node1", "--name", NAME)
    lab_verb("wait", "node1", "--name", NAME)
    _script(lab, machine, "memory_filesystem.sh", PMEM)


def _script(lab, machine, name, *words):
    text = (GUEST / name).read_bytes()
    if subprocess.run(lab.ssh(machine, ["sh", "-s", *words]), input=text, check=False).returncode:
        raise LabError(f"The script {name} failed on the node.")


def _send(lab, machine):
    tar = ["tar", "--create", "--transform", "s,.*/,bench/,", "--absolute-names", *map(str, ON_NODE)]
    with subprocess.Popen(tar, stdout=subprocess.PIPE) as packed:
        unpack = lab.ssh(machine, ["tar", "--extract", "--directory=/root", "--no-same-owner"])
        if subprocess.run(unpack, stdin=packed.stdout, check=False).returncode:
            raise LabError("The bench could not be copied to the node.")


def _run(command):
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            cycle = json.loads(line)
            figures = [f"{cycle[key]:.2f} s" for key in ("frozen_s", "first_answer_s", "drained_s")]
            say(f"{cycle['way']}: frozen {figures[0]}, first answer after {figures[1]}, all in after {figures[2]}")
            yield cycle
    if process.returncode:
        raise LabError(f"The bench on the node ended with {process.returncode}.")


def kept_throughput(cycle):
    """Return (what is left of the throughput, its standard error), from the ratios to the control in each turn."""
    means, errors = [], []
    for pairs in (cycle["bytes_per_s_before"], cycle["bytes_per_s_after"]):
        ratios = [application / control for application, control in pairs]
        means.append(statistics.mean(ratios))
        errors.append(statistics.stdev(ratios) / len(ratios) ** 0.5 / means[-1])
    kept = means[1] / means[0]
    return kept, kept * (errors[0] ** 2 + errors[1] ** 2) ** 0.5


def table(sizes):
    """Return the figures as a text for a person; ratios are to the way `criu` of the same size."""
    lines = [f"{'MiB':>6}  {'way':<14}{'frozen':>9}{'ratio':>7}{'first answer':>14}{'ratio':>7}{'all in':>9}  wrong"]
    for mib, cycles in sorted(sizes.items()):
        plain = next((cycle for cycle in cycles if cycle["way"] == "criu"), cycles[0])
        for cycle in cycles:
            lines.append(
                f"{mib:>6}  {cycle['way']:<14}{cycle['frozen_s']:>7.2f} s{cycle['frozen_s'] / plain['frozen_s']:>7.2f}"
                f"{cycle['first_answer_s']:>12.2f} s{cycle['first_answer_s'] / plain['first_answer_s']:>7.2f}"
                f"{cycle['drained_s']:>7.2f} s  {cycle['wrong']}"
            )
    return "\n".join(lines)


def plot(sizes, path):
    """Draw the frozen time over the size, a line for each way."""
    lines = {}
    for mib, cycles in sorted(sizes.items()):
        for cycle in cycles:
            lines.setdefault(cycle["way"], []).append((mib, cycle["frozen_s"]))
    figure.draw(path, lines, "memcached, GiB", "frozen, s")


def _measured(path):
    if not path.exists():
        return {"sizes": {}}
    found = json.loads(path.read_text(encoding="utf-8"))
    return found | {"sizes": {int(mib): cycles for mib, cycles in found["sizes"].items()}}


def _save(found, path):
    path.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    args = arguments()
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / "memory.json"
    found = _measured(path) if args.resume else {"sizes": {}}
    found |= {"commit": results.commit(), "rate": args.rate}
    try:
        for mib in map(int, filter(None, args.sizes.split(","))):
            say(f"measuring {mib} MiB")
            found["sizes"][mib] = measure(mib, 2, ["--rate", args.rate, "--ways", args.ways])
            _save(found, path)
        if args.throughput:
            say(f"measuring throughput at {args.throughput_size} MiB")
            found["throughput"] = measure_throughput(args)
            _save(found, path)
    except LabError as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
    if found["sizes"]:
        print(f"\n{table(found['sizes'])}")
        plot(found["sizes"], OUT / "memory.png")
    for cycle in found.get("throughput", []):
        print("throughput after {} to before: {:.4f} +- {:.4f}".format(cycle["way"], *kept_throughput(cycle)))
    print(f"{path}, commit {found['commit']}")


if __name__ == "__main__":
    main()
