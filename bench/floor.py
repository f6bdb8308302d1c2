"""How close an update comes to what the machine needs for another kernel at all: the outages of both, on one node.

    python3 -m bench.floor [--turns N] [--parts floor,floor_stock,systemctl_kexec,reboot] [--runs ppp:8192,foam:1024,…]

The parts, none of which keeps anything: `floor` enters the kernel as an update does, the same image with the same words and check sums, and
its only process (floor_init.c) answers as soon as the network's driver is loaded; `floor_stock` is the same with the distribution's image as
kexec(8) loads it; `systemctl_kexec` and `reboot` start the system and the unit cold, as packages and boot loader have it, with nothing to
fill. The runs are updates, ENGINE:MIB each. All go from the same kernel to the same one, on the same node.

The clock is that of `bench.engines`: a nanosecond for each instruction. The outage is the time between two answers to new connections;
lost_s is that with the client's other pauses of more than 0.1 s. All turns are
kept, and written after each.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import time

from bench import engines, floor_page
from bench.engines import OUT, asking, node, on_node, start, update
from lab import results
from lab.command import LabError, say
from tests import suite
from tests.applications import wire

KEPT = pathlib.Path(__file__).resolve().parent / "floor.json"
INIT = pathlib.Path(__file__).resolve().parent / "floor_init.c"
PARTS = ("floor", "floor_stock", "systemctl_kexec", "reboot")
COMMANDS = 7071
# Seconds for a machine to be back.
PATIENCE = 900
RATE = 1000
MODULES = """
import lzma, os, subprocess, sys
said = subprocess.run(["modprobe", "--set-version", sys.argv[1], "--show-depends", "virtio_net"], check=True, capture_output=True, text=True)
paths = [line.split()[1] for line in said.stdout.splitlines() if line.startswith("insmod ")]
for number, path in enumerate(paths):
    opened = lzma.open if path.endswith(".xz") else open
    with opened(path, "rb") as packed, open(f"/root/floor/{number}.ko", "wb") as plain:
        plain.write(packed.read())
    print(f"/root/floor/{number}.ko")
"""
# As the node itself loads a preserved kernel (files/node/lib/kexec.sh).
LOAD = """
. /usr/local/lib/kup/lib/record.sh; . /usr/local/lib/kup/lib/kexec.sh
KERNEL_OLD={release}
load_preserved {image} cmdline {words}
"""
AS_WE_DO = '"$(cat "$state/kernels/$KERNEL_OLD/unpacked.window") --load" unpacked'
STOCK = "'--kexec-syscall-auto --load' vmlinuz"
# As an operator does, from a kernel that the boot loader has started.
AS_PACKAGED = """
set -- --kexec-syscall-auto --load /boot/vmlinuz-{release} --reuse-cmdline
[ ! -e /boot/initrd.img-{release} ] || set -- "$@" --initrd=/boot/initrd.img-{release}
kexec "$@"
"""
INIT_WORD = "init=/root/floor/init"


class Turns:
    """What ends a boot of the NODE's LAB, from its kernel OLD to its kernel NEW."""

    def __init__(self, lab):
        self._lab = lab
        self.old, self.new = (lab.record["image"][f"kernel_{which}"] for which in ("from", "to"))
        self._address = lab.machine(engines.NODE).node["address"]
        self._second = 0

    def prepare(self):
        """Preserve both kernels, by an update, and lay out what the bare floor needs; the node is back on the old kernel then."""
        start(self._lab, 256, RATE)
        update(self._lab, "foam", self.new, 256)
        ticks = on_node(self._lab, "python3 /root/holder.py clock").split()
        self._second = float(ticks[2])
        self._install()
        self.back()

    def _install(self):
        program = OUT / "floor_init"
        subprocess.run(
            ["gcc", "-O2", "-static", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(INIT)], check=True
        )
        on_node(
            self._lab,
            "mkdir -p /root/floor && cat >/root/floor/init && chmod 755 /root/floor/init",
            program.read_bytes(),
        )
        modules = on_node(self._lab, shlex.join(["python3", "-c", MODULES, self.new])).decode().split()
        words = [self._address, "255.255.255.0", *modules]
        on_node(self._lab, "cat >/root/floor/settings", ("\n".join(words) + "\n").encode())

    def back(self):
        """Bring the node back to the old kernel, by a reboot."""
        self._choose(self.old)
        self._end("systemctl reboot", self.old)

    def floor(self):
        return self._bare(AS_WE_DO)

    def floor_stock(self):
        return self._bare(STOCK)

    def systemctl_kexec(self):
        return self._cold("systemctl kexec", AS_PACKAGED)

    def reboot(self):
        return self._cold("systemctl reboot")

    def log(self, release, words):
        """Enter RELEASE with more WORDS on its command line; return its messages."""
        self._load(STOCK, release, words)
        self._end("systemctl kexec", release)
        return on_node(self._lab, "dmesg").decode(errors="replace")

    def _manager(self):
        """Return {step: seconds since the kernel's start} of systemd's own start."""
        steps = ("Userspace", "GeneratorsStart", "GeneratorsFinish", "UnitsLoadStart", "UnitsLoadFinish")
        names = [f"{step}TimestampMonotonic" for step in steps]
        said = on_node(self._lab, f"systemctl show --property={','.join(names)}").decode().split()
        found = dict(line.split("=") for line in said)
        return {step: int(found[name]) / 1e6 for step, name in zip(steps, names, strict=True)}

    def _choose(self, release):
        """Have the boot loader start RELEASE, once."""
        command = 'root=$(findmnt -no UUID /); grub-reboot "gnulinux-advanced-$root>gnulinux-{0}-advanced-$root"'
        on_node(self._lab, command.format(release))

    def _end(self, command, release):
        """End this boot by COMMAND, and wait until the node has started with RELEASE."""
        boot = self._said("cat /proc/sys/kernel/random/boot_id")
        self._said(f"nohup sh -c 'sleep 1; {command}' >/dev/null 2>&1 </dev/null &")
        until = time.monotonic() + PATIENCE
        while self._said("cat /proc/sys/kernel/random/boot_id") in ("", boot):
            if time.monotonic() > until:
                raise LabError(f"The node was not back {PATIENCE} s after '{command}'.")
            time.sleep(1)
        self._said("systemctl is-system-running --wait")
        running = self._said("uname -r")
        if running != release:
            raise LabError(f"'{command}' led to {running}, expected {release}.")

    def _said(self, command):
        argv = self._lab.ssh(self._lab.machine(engines.NODE), [command])
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()

    def _load(self, image, release, words=""):
        """Load RELEASE by the node's own shell, with more WORDS on its command line. IMAGE: AS_WE_DO or STOCK."""
        on_node(self._lab, LOAD.format(image=image, release=release, words=words))

    def _bare(self, image):
        """Jump into floor_init.c; return the outage and its parts."""
        start(self._lab, 1, 0)
        self._choose(self.old)
        self._load(image, self.new, INIT_WORD)
        seen = {}
        with asking(self._lab, 1, seen, 0):
            time.sleep(3)
            self._said("nohup sh -c 'sleep 1; kexec --no-sync --exec' >/dev/null 2>&1 </dev/null &")
            connection = self._connect()
            connection.send(b"clock\n")
            first, uptime = map(float, connection.line().split())
            time.sleep(1)
        self._connect().send(b"reset\n")
        self._lab.wait(self._lab.machine(engines.NODE), PATIENCE)
        self._said("systemctl is-system-running --wait")
        silence, answer = (when / self._second for when in seen["longest_ticks"])
        init = first / self._second
        return {
            "outage_s": answer - silence, "silence_to_kernel_s": init - uptime - silence, "kernel_to_init_s": uptime,
            "init_to_answer_s": answer - init, "outage_on_host_s": seen["longest_s"],
        }  # fmt: skip

    def _connect(self):
        """Return a connection to what floor_init.c takes commands by."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                return wire.connect(self._lab.record["netns"], (self._address, COMMANDS))
            time.sleep(0.2)
        raise LabError(f"The bare floor did not answer within {PATIENCE} s.")

    def _cold(self, command, load=None):
        """Start system and unit anew by COMMAND, after LOAD, or by the boot loader; return the outage."""
        on_node(self._lab, "systemctl add-wants multi-user.target holder.service")
        start(self._lab, 1, 0)
        if load:
            on_node(self._lab, load.format(release=self.new))
        else:
            self._choose(self.new)
        seen = {}
        with asking(self._lab, 1, seen, 0):
            time.sleep(3)
            self._end(command, self.new)
            on_node(self._lab, "until ss -Hltn sport = 7070 | grep -q .; do sleep 1; done")
            time.sleep(1)
        on_node(self._lab, "rm /etc/systemd/system/multi-user.target.wants/holder.service; systemctl daemon-reload")
        silence, answer = (when / self._second for when in seen["longest_ticks"])
        self.back()
        return {"outage_s": answer - silence, "outage_on_host_s": seen["longest_s"]}

    def run(self, engine, mib):
        """Update the node with MIB of memory in use; return what is kept of it."""
        start(self._lab, mib, RATE)
        row = update(self._lab, engine, self.new, mib)
        manager = self._manager()
        self.back()
        gaps = sorted(row["gaps_s"])
        names = (
            "outage_s",
            "lost_s",
            "outage_on_host_s",
            "silence_to_kernel_s",
            "kernel_to_answer_s",
            "wrong",
            "phases",
        )
        return {
            "engine": engine, "gib": mib / 1024, "instances": 1, "cpus": 1, **{name: row[name] for name in names},
            "gap_p95_s": gaps[round(0.95 * (len(gaps) - 1))], "manager": manager, "boot": row["boot"],
        }  # fmt: skip


def arguments():
    parser = argparse.ArgumentParser(
        prog="python3 -m bench.floor", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=5, help="of each part (default: %(default)s)")
    parser.add_argument("--parts", default=",".join(PARTS), help="(default: %(default)s)")
    parser.add_argument(
        "--runs", default="ppp:256,foam:256,criu:256,foam:1024,ppp:8192,auto:8192", help="(default: %(default)s)"
    )
    return parser.parse_args()


def keep(found):
    """Write the figures, with medians, and the page."""
    medians = {
        f"{part}_s": statistics.median(each["outage_s"] for each in turns) for part, turns in found["turns"].items()
    }
    KEPT.write_text(json.dumps(medians | found, indent=1) + "\n", encoding="utf-8")
    floor_page.write(medians | found)


def work(args):
    os.environ.setdefault("KUP_LAB_ICOUNT", engines.INSTRUCTIONS)
    OUT.mkdir(parents=True, exist_ok=True)
    runs = [(engine, int(mib)) for engine, mib in (each.split(":") for each in args.runs.split(",") if each)]
    found = {"commit": results.commit(), "turns": {}, "runs": []}
    with node(max([256, *(mib for _engine, mib in runs)])) as lab:
        turns = Turns(lab)
        turns.prepare()
        found["kernels"] = [turns.old, turns.new]
        for _turn in range(args.turns):
            for part in filter(None, args.parts.split(",")):
                found["turns"].setdefault(part, []).append(getattr(turns, part)())
                say(f"{part}: outage {found['turns'][part][-1]['outage_s']:.2f} s")
                keep(found)
        for engine, mib in runs:
            found["runs"].append(turns.run(engine, mib))
            say(f"{engine}, {mib} MiB: outage {found['runs'][-1]['outage_s']:.2f} s")
            keep(found)
    print(floor_page.PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    options = arguments()
    suite.end("bench", lambda: work(options))
