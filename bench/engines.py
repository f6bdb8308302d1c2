"""The outage of an update by engine and size, on one node: what grows with the memory, and what does not.

The application holds memory and writes to half of it all the time (holder.py); a client asks it over new connections, and over one that
lives through all of it (asker.py). Prints for each size and engine the outage that the client saw and the node's own times, and leaves
build/bench/engines.json and engines.png.

The node's clock counts instructions, a nanosecond each, and the answers carry it: the host's pace makes the outage neither longer
nor shorter (what caches and the TLB do is not seen). Its waits do, for a disk above all, and kexec_s is worthless: the node's RTC
is the host's clock. So nothing else may run on the host. The outage by the client's clock, which is the host's, is kept beside it.
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

REPO = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO / "molecule/lab"))

import figure  # noqa: E402
from command import LabError, say  # noqa: E402
from fleet import keep_consoles, lab_verb  # noqa: E402
from lab import Lab  # noqa: E402
from rollout import Rollout, read_report  # noqa: E402

NAME = "bench-engines"
NODE = "node1"
OUT = REPO / "build" / "bench"
HERE = pathlib.Path(__file__).resolve().parent
# What a node needs besides the application's memory, MiB: the system, its page cache, and the kernel that is loaded.
SYSTEM_MIB = 1024
# 1 ns each: no processor of a server is slower.
INSTRUCTIONS = "shift=0"
UNIT = """
[Unit]
Description=Holds memory

[Service]
ExecStart=/usr/bin/python3 /root/holder.py {mib} {rate}
"""
# Phases before the jump, and from the kernel's start to the answer.
BEFORE = ("dump_s", "plan_s")
AFTER = ("kernel_s", "early_boot_s", "restore_s", "open_s")


def arguments():
    parser = argparse.ArgumentParser(prog="engines.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument(
        "--sizes", default="256,1024,2048,4096,8192", help="MiB, comma separated (default: %(default)s)"
    )
    parser.add_argument("--engines", default="criu,foam,ppp", help="(default: %(default)s)")
    parser.add_argument("--rate", type=float, default=1000, help="pages written per second (default: %(default)s)")
    return parser.parse_args()


@contextlib.contextmanager
def node(mib):
    """Yield the lab of one node with room for an application of MIB at most, and for its images on the disk."""
    lab_verb("down", "--name", NAME)
    try:
        # One processor: with two, QEMU 7.2 without KVM lets a kernel that patches its own code run into int3 now and then.
        lab_verb(
            "up", "--name", NAME, "--nodes", 1, "--mem", mib + mib // 4 + SYSTEM_MIB, "--cpus", 1, "--module",
            "--disk", 8 + 4 * mib // 1024, "--release", "13", "--from", "6.12", "--to", "7.2", "--criu", "next",
        )  # fmt: skip
        yield Lab(NAME)
    finally:
        keep_consoles(NAME, OUT)
        lab_verb("down", "--name", NAME)


def on_node(lab, command, text=None):
    done = subprocess.run(lab.ssh(lab.machine(NODE), [command]), input=text, check=False, stdout=subprocess.PIPE)
    if done.returncode:
        raise LabError(f"{command.split()[0]} ended with {done.returncode} on {NODE}.")


def start(lab, mib, rate):
    on_node(lab, "cat >/root/holder.py", (HERE / "holder.py").read_bytes())
    on_node(lab, "cat >/etc/systemd/system/holder.service", UNIT.format(mib=mib, rate=rate).encode())
    on_node(lab, "systemctl stop memcached; systemctl daemon-reload; systemctl restart holder")
    # It answers once its memory is filled.
    on_node(lab, "until ss -Hltn sport = 7070 | grep -q .; do sleep 1; done")


@contextlib.contextmanager
def asking(lab, mib, seen):
    """Ask all the time; afterwards what was seen is in the dict SEEN."""
    argv = ["ip", "netns", "exec", lab.record["netns"], sys.executable, str(HERE / "asker.py")]
    argv += [lab.machine(NODE).node["address"], str((mib << 20) // 4096)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as asker:
        try:
            yield
        finally:
            said = asker.communicate("end\n")[0]
    if asker.returncode:
        raise LabError(f"The client ended with {asker.returncode}: its connection did not survive.")
    seen.update(json.loads(said))


def update(lab, engine, kernel, mib):
    """Update the node; return what the client and the node saw."""
    folder, seen = OUT / "rollout", {}
    shutil.rmtree(folder, ignore_errors=True)
    variables = {
        "kup_kernel": kernel,
        "kup_engine": engine,
        "kup_report_dir": str(folder),
        "kup_units": ["holder.service"],
    }
    variables |= {name: [] for name in ("kup_gate_ports", "kup_gate_numbers", "kup_gate_commands")}
    # Gigabytes by way of an emulated disk and processor.
    variables |= {f"kup_{name}_timeout": 3600 for name in ("switch", "restore", "commit")}
    with asking(lab, mib, seen):
        code = Rollout(NAME, OUT / "rollout.log", variables).wait()
    if code:
        raise LabError(f"The rollout ended with {code}; see {OUT / 'rollout.log'}.")
    row = read_report(folder)["nodes"][0]
    return {
        "engine": engine, "kernel": kernel, "outage_s": seen["longest_theirs_s"], "outage_on_host_s": seen["longest_s"],
        "wrong": seen["wrong"], "answers": seen["answers"],
        "freeze_to_kexec_s": sum(row["phases"].get(name, 0) for name in BEFORE),
        "kernel_to_answer_s": sum(row["phases"].get(name, 0) for name in AFTER),
        "phases": row["phases"], "memory": row["memory"],
    }  # fmt: skip


def measure(lab, mib, args):
    """Return the updates of one size: with one engine there, with the next one back, and so on; at last the node is where it was."""
    found = []
    image = lab.record["image"]
    engines = args.engines.split(",")
    engines += engines[-1:] * (len(engines) % 2)
    for engine, kernel in zip(engines, itertools.cycle((image["kernel_to"], image["kernel_from"])), strict=False):
        # Each begins with the same: what one engine has put back lies in smaller pages, or in other places.
        start(lab, mib, args.rate)
        found.append(update(lab, engine, kernel, mib))
        say(f"{mib} MiB, {engine} to {kernel}: outage {found[-1]['outage_s']:.2f} s")
    return found


def table(sizes):
    """Return the figures as a text for a person; ratios are to the same engine and kernel at the smallest size."""
    smallest = sizes[min(sizes)]
    lines = [
        f"{'MiB':>6}  {'engine':<8}{'to':<8}{'outage':>9}{'ratio':>7}{'on host':>11}{'freeze to kexec':>17}{'kernel to answer':>18}  wrong"
    ]
    for mib in sorted(sizes):
        for base, each in zip(smallest, sizes[mib], strict=True):
            lines.append(
                f"{mib:>6}  {each['engine']:<8}{each['kernel'][:6]:<8}{each['outage_s']:>7.2f} s"
                f"{each['outage_s'] / base['outage_s']:>7.3f}{each['outage_on_host_s']:>9.2f} s{each['freeze_to_kexec_s']:>15.2f} s"
                f"{each['kernel_to_answer_s']:>16.2f} s  {each['wrong']}"
            )
    return "\n".join(lines)


def plot(sizes, path):
    """Draw the outage over the size, a line for each engine and direction."""
    lines = {
        f"{each['engine']} to {each['kernel'][:6]}": [(mib, sizes[mib][number]["outage_s"]) for mib in sorted(sizes)]
        for number, each in enumerate(sizes[min(sizes)])
    }
    figure.draw(path, lines, "application, GiB", "outage, s")


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    args = arguments()
    OUT.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("KUP_LAB_ICOUNT", INSTRUCTIONS)
    sizes, path = {}, OUT / "engines.json"
    wanted = [int(mib) for mib in args.sizes.split(",")]
    try:
        # The same node for all sizes: a kernel's own start grows with the machine's memory, which is not what is measured.
        with node(max(wanted)) as lab:
            for mib in wanted:
                sizes[mib] = measure(lab, mib, args)
                path.write_text(json.dumps({"rate": args.rate, "sizes": sizes}, indent=2) + "\n", encoding="utf-8")
    except LabError as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
    print(f"\n{table(sizes)}\n{path}")
    plot(sizes, OUT / "engines.png")


if __name__ == "__main__":
    main()
