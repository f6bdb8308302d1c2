"""Three ways to a new kernel on one node, in one run, as a client sees them.

    update   this collection: the application is checkpointed and restored
    kexec    systemctl kexec into the same kernel, and a cold start of the application
    reboot   systemctl reboot: firmware, boot loader, the same kernel, and a cold start of the application

Prints each outage, its ratio to the update's, and the update's phases; raw data in build/bench/. The node is a virtual
machine: its firmware takes a second, a server's takes minutes.
"""

import argparse
import json
import shutil
import signal
import subprocess
import sys
import time

from lab import clients, fleet, results
from lab.command import LabError, say
from lab.paths import REPO
from lab.report import read_report
from lab.rollout import Rollout

NAME = "bench"
NODE = "node1"
OUT = REPO / "build" / "bench"
# How long the node may be away, seconds.
PATIENCE = 300
# Loads what GRUB would boot: the same image, the same command line, the initramfs if there is one.
KEXEC = """
release=$(uname -r); initrd=/boot/initrd.img-$release
[ -e $initrd ] && set -- --initrd=$initrd || set --
kexec --load /boot/vmlinuz-$release --reuse-cmdline "$@" && systemctl kexec
"""


def arguments():
    parser = argparse.ArgumentParser(prog="python3 -m bench.update", description=__doc__.split("\n", maxsplit=1)[0])
    fleet.add_arguments(parser)
    return parser.parse_args()


class Bench:
    """One node, measured by the prober of its load client."""

    def __init__(self, lab, args):
        self._lab = lab
        self._args = args
        self._measured = {}

    def measure(self, way, change):
        """Fill the node, put it under load, let CHANGE happen, and keep what the client saw as WAY's."""
        say(f"measuring: {way}")
        load = clients.Clients(self._lab, OUT / way)
        load.fill(self._args.keys)
        load.start(self._args.keys)
        boot = self._boot_id()
        begin = time.monotonic()
        report = change()
        self._await_return(load, boot)
        wall = time.monotonic() - begin
        if way == "update":
            load.settle()
        seen = load.stop()[NODE]
        verdict = load.verify(self._args.keys, aloud=False)[NODE]
        self._measured[way] = {
            "outage_s": seen["outage_s"],
            "resolution_s": seen["probe"]["resolution_s"],
            "wall_s": round(wall, 3),
            "connections_kept": seen["connections_kept"],
            "connections_before": seen["connections_before"],
            "keys_lost": verdict["keys_lost"] if verdict else None,
            "outages": seen["outages"],
            "kernel": self._on_node("uname -r"),
            "phases": report.get("phases", {}),
        }

    def _on_node(self, command):
        argv = self._lab.ssh(self._lab.machine(NODE), [command])
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()

    def _boot_id(self):
        return self._on_node("cat /proc/sys/kernel/random/boot_id")

    def _await_return(self, load, boot):
        """Wait until another boot than BOOT answers, and the application too."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if self._boot_id() not in ("", boot):
                age = load.status(NODE)["probe_last_answer_age_s"]
                if age is not None and age < 0.5:
                    return
            time.sleep(1)
        raise LabError(f"{NODE} did not come back within {PATIENCE} s.")

    def update(self):
        folder = OUT / "rollout"
        kernel = self._lab.record["image"]["kernel_to"]
        variables = {"kup_kernel": kernel, "kup_engine": self._args.engine, "kup_report_dir": str(folder)}
        code = Rollout(NAME, OUT / "rollout.log", variables).wait()
        if code:
            raise LabError(f"The rollout ended with {code}; see {OUT / 'rollout.log'}.")
        return read_report(folder)["nodes"][0]

    def kexec(self):
        self._on_node(KEXEC)
        return {}

    def reboot(self):
        self._on_node("systemctl reboot")
        return {}

    def result(self):
        lab = {**self._lab.record["image"], "mem_mib": self._lab.record["mem"], "keys": self._args.keys}
        return {"commit": results.commit(), "lab": lab, "ways": self._measured}


def table(result):
    """Return the measurements as a text for a person."""
    ways = result["ways"]
    shortest = ways["update"]["outage_s"]
    lines = [f"{'way':<8}{'outage':>10}{'ratio':>8}   {'connections':<14}keys lost"]
    for name, way in ways.items():
        kept = f"{way['connections_kept']} of {way['connections_before']}"
        lines.append(
            f"{name:<8}{way['outage_s']:>8.2f} s{way['outage_s'] / shortest:>7.2f}x   {kept:<14}{way['keys_lost']}"
        )
    phases = ways["update"]["phases"]
    lines.append("phases of the update: " + ", ".join(f"{name} {seconds:.2f}" for name, seconds in phases.items()))
    return "\n".join(lines)


def run(args):
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    with fleet.fleet(NAME, 1, args, OUT) as lab:
        bench = Bench(lab, args)
        # The update comes first: it makes the target the boot loader's default, so that all three start the same kernel.
        bench.measure("update", bench.update)
        bench.measure("kexec", bench.kexec)
        bench.measure("reboot", bench.reboot)
        result = bench.result()
    path = OUT / "update.json"
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"\n{table(result)}\n{path}, commit {result['commit']}")


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run(arguments())
    except LabError as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")


if __name__ == "__main__":
    main()
