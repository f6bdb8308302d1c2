"""The outage of an update by engine and size, on one node: what grows with the memory, and what does not.

The application holds memory and writes to half of it all the time (holder.py); a client asks it over new connections, and over one that
lives through all of it (asker.py). Prints for each engine, kernel and size the outage that the client saw, with the new kernel's start in
between, as medians where there are several turns, and leaves build/bench/engines.json and engines.png.

The node's clock counts instructions, a nanosecond each, and the answers carry it: the host's pace makes the outage neither longer
nor shorter (what caches and the TLB do is not seen). Its waits do, for a disk above all, so nothing else should run on the host. The
outage by the client's clock, which is the host's, is kept beside it; so are the node's own times, but its kexec_s is worthless: its RTC
is the host's clock. A kernel starts its clock when it knows its memory, so that work on page frames before is on kexec's side.
"""

import argparse
import contextlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
from statistics import median

from bench import figure
from lab import results
from lab.command import LabError, say
from lab.fleet import keep_consoles, lab_verb
from lab.paths import REPO
from lab.report import read_report
from lab.rollout import Rollout
from lab.state import Lab

NAME = "bench-engines"
NODE = "node1"
OUT = REPO / "build" / "bench"
HERE = pathlib.Path(__file__).resolve().parent
# What a node needs besides the application's memory, MiB: the system, its page cache, and the kernel that is loaded.
SYSTEM_MIB = 1024
# A pause between two answers that counts as lost time, seconds.
PAUSE = 0.1
# 1 ns each: no processor of a server is slower.
INSTRUCTIONS = "shift=0"
UNIT = """
[Unit]
Description=Holds memory

[Service]
ExecStart=/usr/bin/python3 /root/holder.py {mib} {rate}
"""


def arguments():
    parser = argparse.ArgumentParser(prog="python3 -m bench.engines", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument(
        "--sizes", default="256,1024,2048,4096,8192", help="MiB, comma separated (default: %(default)s)"
    )
    parser.add_argument("--engines", default="ppp,foam,criu", help="(default: %(default)s)")
    parser.add_argument("--turns", type=int, default=2, help="of all engines at each size (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=1000, help="pages written per second (default: %(default)s)")
    return parser.parse_args()


@contextlib.contextmanager
def node(mib):
    """Yield the lab of one node with room for an application of MIB at most, and for its images on the disk."""
    lab_verb("down", "--name", NAME)
    try:
        # One processor: with two, QEMU 7.2 without KVM lets a kernel that patches its own code run into int3 now and then.
        lab_verb("up", "--name", NAME, "--mem", mib + mib // 4 + SYSTEM_MIB, "--module", "--disk", 8 + 4 * mib // 1024)
        yield Lab(NAME)
    finally:
        keep_consoles(NAME, OUT)
        lab_verb("down", "--name", NAME)


def on_node(lab, command, text=None):
    done = subprocess.run(lab.ssh(lab.machine(NODE), [command]), input=text, check=False, stdout=subprocess.PIPE)
    if done.returncode:
        raise LabError(f"{command.split()[0]} ended with {done.returncode} on {NODE}.")
    return done.stdout


def start(lab, mib, rate):
    on_node(lab, "cat >/root/holder.py", (HERE / "holder.py").read_bytes())
    on_node(lab, "cat >/etc/systemd/system/holder.service", UNIT.format(mib=mib, rate=rate).encode())
    on_node(lab, "systemctl stop memcached; systemctl daemon-reload; systemctl restart holder")
    # It answers once its memory is filled.
    on_node(lab, "until ss -Hltn sport = 7070 | grep -q .; do sleep 1; done")


@contextlib.contextmanager
def client(lab, module, seen, *words):
    """Have this module, with the node's address and WORDS, ask until the end; afterwards what was seen is in the dict SEEN."""
    argv = ["ip", "netns", "exec", lab.record["netns"], sys.executable, "-m", module]
    argv += [lab.machine(NODE).node["address"], *map(str, words)]
    with subprocess.Popen(argv, cwd=REPO, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as asker:
        try:
            yield
        finally:
            said = asker.communicate("end\n")[0]
    if asker.returncode:
        raise LabError(f"The client {module} ended with {asker.returncode}: a connection did not survive.")
    seen.update(json.loads(said))


def asking(lab, mib, seen, *old):
    """Ask a holder of so much memory, by OLD connections that live through it."""
    return client(lab, "bench.asker", seen, (mib << 20) // 4096, *old)


def roll_out(engine, kernel, unit, clients, **others):
    """Update the node with UNIT, and OTHERS of the rollout's variables, while CLIENTS, a context, ask; return the folder of the report."""
    folder = OUT / "rollout"
    shutil.rmtree(folder, ignore_errors=True)
    variables = {
        "kup_kernel": kernel,
        "kup_engine": engine,
        "kup_report_dir": str(folder),
        "kup_units": [unit],
        **others,
    }
    variables |= {name: [] for name in ("kup_gate_ports", "kup_gate_numbers", "kup_gate_commands")}
    # Gigabytes by way of an emulated disk and processor.
    variables |= {f"kup_{name}_timeout": 3600 for name in ("switch", "restore", "commit")}
    with clients:
        code = Rollout(NAME, OUT / "rollout.log", variables).wait()
    if code:
        raise LabError(f"The rollout ended with {code}; see {OUT / 'rollout.log'}.")
    return folder


def update(lab, engine, kernel, mib, **others):
    """Update the node, with OTHERS of the rollout's variables; return what the client and the node saw."""
    seen = {}
    folder = roll_out(engine, kernel, "holder.service", asking(lab, mib, seen), **others)
    return row(seen, on_node(lab, "python3 /root/holder.py clock").decode(), read_report(folder)["nodes"][0])


def row(seen, clock, reported):
    """Return one update.

    :param seen: what the client saw (`Asker.tell`).
    :param clock: what `holder.py clock` says after the update.
    :param reported: the node in the rollout's report.
    """
    ticks, uptime, per_second = map(float, clock.split())
    started = ticks / per_second - uptime
    silences = [(begin / per_second, end / per_second) for begin, end in seen["silences_ticks"]]
    silence, answer = spanning(silences, started)
    pauses = [end - begin for begin, end in silences]
    phases = reported["phases"]
    return {
        "engine": reported["engine"], "kernel": reported["kernel_after"], "outage_s": answer - silence,
        "lost_s": sum(pause for pause in pauses if pause > PAUSE), "outage_on_host_s": seen["longest_s"],
        "wrong": seen["wrong"], "answers": seen["answers"], "gaps_s": sorted(seen["gaps_s"]),
        "freeze_to_kexec_s": phases["dump_s"] + phases["plan_s"],
        "silence_to_kernel_s": started - silence, "kernel_to_answer_s": answer - started,
        "phases": phases, "memory": reported["memory"], "boot": events(reported["timeline"]),
    }  # fmt: skip


def spanning(silences, at):
    """Return the silence of SILENCES (begin, end) in which the second AT lies: the outage. A longer one before it is service that is lost as well,
    such as when a single processor loads a kernel."""
    for begin, end in silences:
        if begin < at < end:
            return begin, end
    raise LabError(f"The client had answers all the time when the kernel started, at {at:.2f} s of its clock.")


def events(timeline):
    """Return what happened in the last boot of TIMELINE as [event, seconds since its kernel's start]."""
    start = max(number for number, one in enumerate(timeline) if one["event"] == "kernel-start")
    begin = timeline[start]
    return [
        [one["event"], round(one["at"] - begin["at"], 3)] for one in timeline[start:] if one["boot"] == begin["boot"]
    ]


def measure(lab, mib, args, kernels):
    """Return the updates of one size, by each engine as often as there are turns; each goes to the next of KERNELS.

    The first engine of a turn finds memory as it was filled, in huge pages where the node makes them; the others what the one before
    has put back.
    """
    found = []
    for _turn in range(args.turns):
        start(lab, mib, args.rate)
        for engine in args.engines.split(","):
            found.append(update(lab, engine, next(kernels), mib))
            say(f"{mib} MiB, {engine} to {found[-1]['kernel']}: outage {found[-1]['outage_s']:.2f} s")
    return found


def medians(sizes):
    """Return the updates by engine and kernel, one for each size: (engine, kernel) → {MiB: {name: seconds}}."""
    found = {}
    for mib in sorted(sizes):
        alike = {}
        for each in sizes[mib]:
            alike.setdefault((each["engine"], each["kernel"]), []).append(each)
        for key, updates in alike.items():
            names = [name for name in updates[0] if name.endswith("_s")]
            found.setdefault(key, {})[mib] = {name: median(each[name] for each in updates) for name in names}
    return found


COLUMNS = {
    "outage": "outage_s", "on host": "outage_on_host_s", "freeze to kexec": "freeze_to_kexec_s",
    "to the kernel": "silence_to_kernel_s", "to the answer": "kernel_to_answer_s",
}  # fmt: skip


def table(sizes):
    """Return the figures as a text for a person; ratios are to the same engine and kernel at their smallest size."""
    rows = [f"{'engine':<8}{'to':<8}{'MiB':>6}{'ratio':>8}" + "".join(f"{title:>17}" for title in COLUMNS)]
    for (engine, kernel), updates in sorted(medians(sizes).items()):
        base = next(iter(updates.values()))["outage_s"]
        for mib, each in updates.items():
            seconds = "".join(f"{each[name]:>15.2f} s" for name in COLUMNS.values())
            rows.append(f"{engine:<8}{kernel[:6]:<8}{mib:>6}{each['outage_s'] / base:>8.3f}{seconds}")
    return "\n".join(rows)


def table_share(updates):
    """Return the largest share of the memory preserved that its table is, over all updates that have one."""
    kept = [memory for each in updates for memory in each["memory"].values()]
    return max((each["table"]["own"] / each["table"]["frames"] for each in kept if each.get("table")), default=0)


def plot(sizes, path):
    """Draw the outage over the size, a line for each engine and direction."""
    drawn = {
        f"{engine} to {kernel[:6]}": [(mib, each["outage_s"]) for mib, each in updates.items()]
        for (engine, kernel), updates in sorted(medians(sizes).items())
    }
    figure.draw(path, drawn, "application, GiB", "outage, s")


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    args = arguments()
    OUT.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("KUP_LAB_ICOUNT", INSTRUCTIONS)
    sizes, path, commit = {}, OUT / "engines.json", results.commit()
    wanted = [int(mib) for mib in args.sizes.split(",")]
    try:
        # The same node for all sizes: a kernel's own start grows with the machine's memory, which is not what is measured.
        with node(max(wanted)) as lab:
            kernels = itertools.cycle((lab.record["image"]["kernel_to"], lab.record["image"]["kernel_from"]))
            for mib in wanted:
                sizes[mib] = measure(lab, mib, args, kernels)
                path.write_text(
                    json.dumps({"commit": commit, "rate": args.rate, "sizes": sizes}, indent=2) + "\n", encoding="utf-8"
                )
    except LabError as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
    updates = [each for found in sizes.values() for each in found]
    print(f"\n{table(sizes)}\n{len(updates)} updates, {sum(each['wrong'] for each in updates)} wrong answers")
    print(f"the table of frames is at most {table_share(updates):.4%} of the memory preserved\n{path}, commit {commit}")
    plot(sizes, OUT / "engines.png")


if __name__ == "__main__":
    main()
