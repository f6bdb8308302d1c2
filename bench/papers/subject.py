"""What is measured: a node with units under load, its updates and its reboots."""

import contextlib
import json
import os
import subprocess
import sys
import time

from lab.command import LabError, say
from lab.paths import REPO
from tests.applications import setting
from tests.cases.machine import machine
from tests.cases.update import Updates

NAME = "bench-papers"
OUT = REPO / "build" / "bench" / "papers"
# Seconds for a node to be back.
PATIENCE = 600
# An emulated processor copies the memory of databases.
PATIENT = {"kup_rounds_max": 5, "kup_restore_timeout": 600, "kup_switch_timeout": 1800, "kup_commit_timeout": 1800}


class Subject:
    """The NODE of the lab."""

    def __init__(self, node):
        self.node, self.address = node, node.address
        self._inside = ["ip", "netns", "exec", node.lab.record["netns"]]

    def run(self, command, text=None, check=True):
        return self.node.run(command, input=text, check=check)

    def write(self, path, text):
        setting.write(self.node, path, text)

    def start_client(self, *argv, **options):
        """Start a program where it can reach the node; return the process."""
        return subprocess.Popen([*self._inside, *argv], cwd=REPO, text=True, **options)

    @contextlib.contextmanager
    def client(self, module, *words):
        """Run MODULE until the end of the block; afterwards the yielded dict has what it says as JSON."""
        said = {}
        with self.start_client(
            sys.executable, "-m", module, self.address, *map(str, words), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            if process.stdout.readline() != "ready\n":
                raise LabError(f"The client {module} did not begin.")
            try:
                yield said
            finally:
                text = process.communicate("end\n")[0]
        if process.returncode:
            raise LabError(f"The client {module} ended with {process.returncode}.")
        said.update(json.loads(text))

    def update(self, units, engine, **more):
        """Update the node, and turn its kernels; return the row of the report and when it began and ended (monotonic clock, seconds).

        :raises LabError: the update was not kept.
        """
        updates, begin = Updates(self.node, engine, OUT), time.monotonic()
        row = updates.there(units, {**PATIENT, **more})
        self.node.settle()
        outcome = updates.outcome(row)
        if outcome.phase != "committed":
            raise LabError(f"The update of {', '.join(units)} ended as {outcome.phase}: {outcome.reason}")
        self.node.turn()
        return row, begin, time.monotonic()

    def reboot(self):
        """Reboot the node; return when that began and when the node had started (monotonic clock, seconds)."""
        boot, begin = self._boot(), time.monotonic()
        self.run("systemctl reboot", check=False)
        while self._boot() in ("", boot):
            if time.monotonic() - begin > PATIENCE:
                raise LabError(f"The node was not back {PATIENCE} s after its reboot.")
            time.sleep(1)
        self.run("systemctl is-system-running --wait", check=False)
        return begin, time.monotonic()

    def _boot(self):
        return self.run("cat /proc/sys/kernel/random/boot_id", check=False).strip()


@contextlib.contextmanager
def _counting():
    """Let the clocks of nodes count instructions, a nanosecond each."""
    os.environ["KUP_LAB_ICOUNT"] = "shift=0"
    try:
        yield
    finally:
        del os.environ["KUP_LAB_ICOUNT"]


@contextlib.contextmanager
def subject(memory, packages=(), *options, counted=False):
    """Yield a Subject with so many MiB of memory and Debian's PACKAGES. COUNTED: its clock counts instructions."""
    OUT.mkdir(parents=True, exist_ok=True)
    wish = [*(["--packages", *packages] if packages else []), *options]
    with _counting() if counted else contextlib.nullcontext(), machine(NAME, OUT, True, *wish, memory=memory) as node:
        node.install([])
        say(f"kernels {node.old} and {node.new}")
        yield Subject(node)
