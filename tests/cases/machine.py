"""The machine of the cases: a lab of one node, by ssh."""

import contextlib
import json
import pathlib
import re
import shlex
import subprocess
import time

from lab import packages
from lab.command import LabError
from lab.fleet import keep_consoles, lab_verb
from lab.state import Lab
from tests.cases.guest.declared import THERE, UNITS

NODE = "node1"
GUEST = pathlib.Path(__file__).resolve().parent / "guest"
# The applications of a whole update, the system, and a page cache that takes their checkpoint.
MEMORY = 1536
# Seconds for a node that is on its way to answer: a way back takes two boots, with twenty applications.
PATIENCE = 900
AT_REST = (
    "systemctl is-active kup-switch kup-restore-done kup-restore-failed; systemctl is-system-running; "
    "grep -h -s ^PHASE= /usr/local/var/kup/record /var/lib/kup/record || echo PHASE=; echo end"
)
# On probation a node waits for its commit, or goes back.
UNDER_WAY = ("checkpointing", "switching", "probation", "returning")


class Node:
    """The node of the lab NAME."""

    def __init__(self, name):
        self.lab = Lab(name)
        self.machine = self.lab.machine(NODE)
        self.old, self.new = (self.lab.record["image"][f"kernel_{which}"] for which in ("from", "to"))

    def turn(self):
        """Let the next update lead to the other kernel."""
        self.old, self.new = self.new, self.old

    @property
    def address(self):
        return self.machine.node["address"]

    @property
    def release(self):
        """The Debian release of the node."""
        return self.lab.record["image"]["wish"]["release"]

    def run(self, command, input=None, check=True, seconds=600):
        words = self.lab.ssh(self.machine, [command], silence=120)
        done = subprocess.run(words, input=input, capture_output=True, text=True, check=False, timeout=seconds)
        if check and done.returncode:
            raise LabError(f"'{command[:80]}' ended with {done.returncode} on {NODE}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def tool(self, *words):
        """Run guest/node.py; return what it says."""
        return json.loads(self.run(shlex.join(["python3", "-B", f"{THERE}/node.py", *words])))

    def install(self, cases):
        """Copy the programs and declarations, and the packages that the CASES need."""
        wanted = sorted({package for case in cases for package in case.PACKAGES})
        have = self.run("dpkg-query -W -f '${Package} ${db:Status-Abbrev}\\n' 2>/dev/null")
        for package in wanted:
            if not re.search(rf"^{package} ii", have, re.M):
                packages.install(self.lab, self.machine, package)
        archive = subprocess.run(
            ["tar", "-C", str(GUEST), "-c", *sorted(path.name for path in GUEST.glob("*.py")),
             "-C", str(UNITS.parent), *sorted(f"units/{path.name}" for path in UNITS.glob("*.py"))],
            capture_output=True, check=True,
        ).stdout  # fmt: skip
        words = self.lab.ssh(self.machine, [f"mkdir -p {THERE} && tar -C {THERE} -x --no-same-owner"])
        subprocess.run(words, input=archive, check=True)

    def settle(self):
        """Wait until no update is under way on the node; return its state."""
        until = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(LabError, subprocess.TimeoutExpired):
                said = self.run(AT_REST, check=False, seconds=60).split("\n")
                # A node that does not answer says nothing, not even the end.
                if said[-2:] == ["end", ""] and "activating" not in said:
                    phase = said[-3].removeprefix("PHASE=")
                    if phase not in UNDER_WAY:
                        return phase
            if time.monotonic() > until:
                raise LabError(f"The node was not at rest {PATIENCE} s after the end of the rollout.")
            time.sleep(3)

    def keep_evidence(self, place):
        place.mkdir(parents=True, exist_ok=True)
        commands = {
            "journal": "journalctl --no-pager --output=short-precise --since=-40min",
            "state": "cd /usr/local/var/kup || cd /var/lib/kup; grep -s '' record timeline; ls -lR . /run/kup",
            "restore": "tail -n 200 /var/lib/kup/images/*/*/restore.log",
        }
        for name, command in commands.items():
            with contextlib.suppress(LabError, subprocess.TimeoutExpired):
                (place / name).write_text(self.run(command, check=False, seconds=120), encoding="utf-8")


@contextlib.contextmanager
def machine(name, out, module, *options, memory=MEMORY):
    """Yield a freshly booted node of the lab NAME, and end it in any case. OUT: directory for its console; OPTIONS of `lab up`."""
    lab_verb("down", "--name", name)
    try:
        lab_verb("up", "--name", name, "--mem", memory, *(["--module"] if module else []), *options)
        yield Node(name)
    finally:
        keep_consoles(name, out)
        lab_verb("down", "--name", name)
