"""The machine under test: a lab of one node, with the node's side of these tests (guest/) and an application installed."""

import contextlib
import json
import pathlib
import subprocess

from lab.command import LabError
from lab.fleet import lab_verb
from lab.paths import GUEST
from lab.rollout import Rollout
from lab.state import Lab
from tests.faults import victim

NODE = "node1"
# The folder of these tests on the node.
THERE = "/root/faults"
HERE = pathlib.Path(__file__).resolve().parent
FILES = (*(HERE / "guest" / name for name in ("node.py", "fault.sh", "flip.py", "hang.c")), GUEST / "patterns.py")
EVIDENCE = {
    "journal": "journalctl --no-pager --output=short-precise --since=-20min",
    "state": "grep -s '' /var/lib/kup/record /var/lib/kup/timeline; ls -lR /var/lib/kup/ /run/kup; systemctl status --no-pager 'kup*'",
}
# All commands on one kernel share a login: a login costs seconds of an emulated processor.
SHARED = ("-o", "ControlMaster=auto", "-o", "ControlPersist=yes")


class Node:
    """The machine under test, by ssh."""

    def __init__(self, lab):
        self.lab, self.machine = lab, lab.machine(NODE)
        # The application beside patterns.service (victim.py), if any.
        self.victim = None
        # The kernel that runs, and the one to update to.
        self.kernels = [lab.record["image"][f"kernel_{name}"] for name in ("from", "to")]

    def ssh(self, *command):
        """Return the argv of a command on the node."""
        program, *words = self.lab.ssh(self.machine, command)
        return [program, *SHARED, "-o", f"ControlPath={self.lab.state}/shared", *words]

    def run(self, command, text=None, check=True):
        done = subprocess.run(self.ssh(command), input=text, capture_output=True, text=True, check=False, timeout=600)
        if check and done.returncode:
            raise LabError(f"'{command}' ended with {done.returncode} on {NODE}: {done.stderr.strip()[-300:]}")
        return done

    def tool(self, *words, check=True):
        """Run guest/node.py."""
        return self.run(" ".join(["python3", f"{THERE}/node.py", *words]), check=check)

    def waiting(self):
        """Return a process that waits for the end of the update and prints the node's state; it fails with each kernel."""
        words = self.ssh(f"python3 {THERE}/node.py wait")
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def install(self):
        self.run(f"mkdir -p {THERE}")
        for path in FILES:
            self.run(f"cat >{THERE}/{path.name}", path.read_text(encoding="utf-8"))
        self.run(f"python3 {THERE}/patterns.py install")

    def build_hang(self, kernel):
        """Build the module that hangs, for a kernel with headers on the node."""
        where = f"{THERE}/{kernel}"
        self.run(
            f"set -e; mkdir -p {where}; cd {where}; cp ../hang.c .; echo obj-m := hang.o >Kbuild; "
            f"[ -e hang.ko ] || make -s -C /lib/modules/{kernel}/build M={where}; ln -sf {where}/hang.ko .."
        )

    def prepare(self, engine, watch_interval=60):
        """Clean up after the last update and stage one to the kernel that does not run; return the facts in between."""
        units = self.victim.units if self.victim else []
        found = json.loads(self.tool("prepare", engine, str(watch_interval), *units).stdout)
        self.kernels.sort(key=lambda kernel: kernel == found["kernel"])
        return found["facts"]

    def keep_evidence(self, place):
        """Copy the machine's account of the last update into the directory PLACE: the machine is about to be removed."""
        place.mkdir(exist_ok=True)
        for name, command in EVIDENCE.items():
            with contextlib.suppress(subprocess.TimeoutExpired):
                (place / name).write_text(self.run(command, check=False).stdout, encoding="utf-8")

    def power_cut(self):
        self.machine.kill()
        self.lab.start(self.machine)

    def console_has(self, words, since):
        """Whether WORDS are on the console after its position SINCE."""
        with self.machine.serial.open("rb") as stream:
            stream.seek(since)
            return words in stream.read()


def open_node(name, out, application=""):
    """Boot the lab NAME, with an APPLICATION of victim.py, and update its node once; return the node. OUT: a directory for logs."""
    lab_verb("down", "--name", name)
    lab_verb(
        "up", "--name", name, "--mem", 1536, "--module", *(["--packages", *victim.packages()] if application else [])
    )
    node = Node(Lab(name))
    node.install()
    if application:
        node.victim = victim.Victim(application, name, out)
        node.victim.install()
    # This first update is Ansible's: it installs the node's side of the collection.
    variables = {
        "kup_kernel": node.kernels[1],
        "kup_engine": "ppp",
        "kup_units": ["patterns.service", *(node.victim.units if node.victim else [])],
        "kup_report_dir": str(out / "report"),
        **{name: [] for name in ("kup_gate_ports", "kup_gate_numbers", "kup_gate_commands")},
    }
    if Rollout(name, out / "rollout.log", variables).wait():
        raise LabError(f"The first rollout failed; see {out / 'rollout.log'}.")
    return node
