"""The scripts of files/node in a root of their own, with commands that only note how they were called."""

import os
import pathlib
import re
import shlex
import subprocess

from ansible_collections.kup.fleet.plugins.module_utils._update import record as records

REPO = pathlib.Path(__file__).parents[2]
SCRIPTS = REPO / "files/node"

OLD, NEW = "6.12-old", "7.2-new"
UNIT, OTHER = "a.service", "b.service"

# Paths of the machine that the scripts name from the root; the fake node has its own.
_ABSOLUTE = re.compile(
    r"(?<![\w.}$-])/(?=(?:proc|sys|run|dev/kup_ppp|dev/kmsg|var/lib/kup|usr/local/(?:lib|var)/kup|usr/lib/systemd)\b)"
)
# Commands that would change the machine, take time, or need what it lacks.
_COMMANDS = (
    *("busctl", "dmesg", "insmod", "ip", "kexec", "modprobe", "mount", "mountpoint", "nft", "rmmod"),
    *("sleep", "sync", "systemctl", "systemd-notify", "systemd-run", "vmcore-dmesg"),
    *(
        "usr/local/lib/kup/environment",
        "usr/local/lib/kup/fingerprint",
        "usr/local/lib/kup/paged",
        "usr/local/lib/kup/cli",
    ),
)


class FakeNode:
    """A node on kernel `running`, with an update from `OLD` to `NEW` of `UNIT` in `phase`."""

    def __init__(self, root, phase="switching", running=NEW, units=UNIT, **values):
        self.root = root
        self._bin = root / "bin"
        self._calls = root / "calls"
        for path in (path for path in SCRIPTS.rglob("*") if path.is_file()):
            self.write(f"usr/local/lib/kup/{path.relative_to(SCRIPTS)}", self._moved(path.read_text()))
        for path in ("run/kup", "run/sysctl.d", "dev", "sys/class/net", "sys/bus/pci/devices", "proc/sys/vm"):
            (root / path).mkdir(parents=True, exist_ok=True)
        self.write("proc/sys/kernel/osrelease", f"{running}\n")
        self.write("proc/sys/kernel/random/boot_id", "this-boot\n")
        self.write("proc/uptime", "12.34 5.00\n")
        self.write("proc/cmdline", "root=/dev/sda1 quiet\n")
        self.write("proc/cpuinfo", "processor\t: 0\ninitial apicid\t: 4\n")
        for command in _COMMANDS:
            self.fake(command)
        self.fake("nft", '[ "$1" != list ]')
        self.values = {
            "PHASE": phase,
            "ID": "update",
            "IMAGES": f"{root}/var/lib/kup/images",
            "KERNEL_OLD": OLD,
            "KERNEL_NEW": NEW,
            "CHECKPOINT": "1",
            "UNITS": units,
            **values,
        }
        self.save()
        for kernel in (OLD, NEW):
            self.write(f"var/lib/kup/kernels/{kernel}/cmdline", "root=/dev/sda1\n")
        self.plan = root / "var/lib/kup/boot" / self.values["CHECKPOINT"]
        self.write_plan("resources", "".join(f"{unit} {self.cgroup(unit)} 50 60 100 90\n" for unit in units.split()))
        for name in ("control-groups", "apply-again"):
            self.write_plan(name)
        for unit in units.split():
            self.tree(unit)
        self.write_plan("notifications", "".join(f"{unit} 0\n" for unit in units.split()))
        for name, text in {
            "last-pid": "4711\n",
            "overcommit": "0\n",
            "network-lock.nft": "",
            "packets.nft": "",
            "links": "",
            "addresses": "",
            "routes": "",
        }.items():
            self.write_plan(name, text)
        for unit in units.split():
            self.write(f"var/lib/kup/images/update/1-{unit}/restore.log", "")

    def _moved(self, text):
        return _ABSOLUTE.sub(f"{self.root}/", text).replace("PATH=/usr/sbin", f"PATH={self._bin}:/usr/sbin")

    def save(self, **values):
        """Write the record and its copy."""
        self.values.update(values)
        record = records.Record(self.values)
        text = records.sealed("".join(f"{key}={shlex.quote(value)}\n" for key, value in record.items() if value))
        for name in ("record", "record.copy"):
            self.write(f"var/lib/kup/{name}", text)

    def load(self):
        """The record as the library reads it."""
        return records.parse(self.read("var/lib/kup/record") + "\n" + self.read("var/lib/kup/record.copy"))

    def write(self, path, text=""):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def write_plan(self, name, text=""):
        return self.write((self.plan / name).relative_to(self.root), text)

    def read(self, path):
        return (self.root / path).read_text()

    def mark(self, *names):
        """Files of /run/kup that other scripts of this boot have made."""
        for name in names:
            self.write(f"run/kup/{name}")

    def marked(self, name):
        return (self.root / "run/kup" / name).exists()

    def decide(self, word):
        (self.root / "run/kup/decision").symlink_to(word)

    def decision(self):
        path = self.root / "run/kup/decision"
        return os.readlink(path) if path.is_symlink() else None

    def cgroup(self, unit):
        """A unit's control group, as a restore leaves it: heavy, and without limits."""
        group = self.root / "sys/fs/cgroup/system.slice" / unit
        if not group.exists():
            group.mkdir(parents=True)
            for name, value in {
                "cpu.weight": "10000",
                "io.weight": "default 10000",
                "memory.max": "max",
                "memory.high": "max",
                "memory.current": "80",
                "cgroup.freeze": "1",
            }.items():
                (group / name).write_text(f"{value}\n")
        return group

    def group_value(self, unit, name):
        return (self.cgroup(unit) / name).read_text().strip()

    def keep_frames(self):
        """Engine ppp: the plan says where frames are, and this kernel was told of them."""
        self.write_plan("frames", "TABLE='0x1000,0x2'\nWINDOW='--mem-min=0x1 --mem-max=0x2'\n")
        self.write("proc/cmdline", "root=/dev/sda1 kup_ppp.table=0x1000,0x2\n")

    def tree(self, unit, *processes):
        """A tree that was restored stopped: tuples of process and whether it was stopped before the checkpoint, too."""
        lines = [f"{process.pid} {'stopped' if stopped else 'run'}\n" for process, stopped in processes]
        self.write_plan(f"tasks-{unit}", "".join(lines))

    def fake(self, command, body=":"):
        """Replace a command (or a program, by its path in the root) by one that notes its call and runs ``body``."""
        path = self.root / command if "/" in command else self._bin / command
        path.parent.mkdir(parents=True, exist_ok=True)
        name = os.path.basename(command)
        path.write_text(f'#!/bin/sh\necho "{name}${{*:+ $*}}" >>{self._calls}\n{body}\n')
        path.chmod(0o755)

    def run(self, script, *arguments, code=0, **environment):
        """Run a script of files/node; its exit code has to be ``code`` (None: any)."""
        done = subprocess.run(
            ["/bin/sh", self.root / "usr/local/lib/kup" / script, *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
            env={"PATH": f"{self._bin}:{os.environ['PATH']}", "LANG": "C", **environment},
        )
        assert code is None or done.returncode == code, done.stderr
        return done

    def shell(self, script, *libraries):
        """Run lines of shell after sourcing libraries of files/node/lib."""
        sourced = "".join(f". {self.root}/usr/local/lib/kup/lib/{name}.sh\n" for name in ("record", *libraries))
        return subprocess.run(
            ["/bin/sh", "-euc", f"{sourced}load_record\n{script}"],
            check=True,
            capture_output=True,
            text=True,
            env={"PATH": f"{self._bin}:{os.environ['PATH']}", "LANG": "C"},
        )

    @property
    def calls(self):
        """Calls of all fake commands, in order."""
        return self._calls.read_text().splitlines() if self._calls.exists() else []

    def called(self, beginning):
        return [call for call in self.calls if call.startswith(beginning)]

    def events(self, path="run/kup/times"):
        file = self.root / path
        return [line.split()[0] for line in file.read_text().splitlines()] if file.exists() else []

    def timeline(self):
        return self.events("var/lib/kup/timeline")
