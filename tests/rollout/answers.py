"""What nodes answer that a table answers for, see `tests.rollout`. Reads KUP_CANNED, a directory with ``table.json``,
``installed.json`` and the nodes' states.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import time
import uuid
from pathlib import Path

NEW, OLD = "7.2.12-amd64", "6.12.1-amd64"
_PATIENCE = 120  # seconds
_LOGGED = 2000  # characters of a module's arguments
_FQN = re.compile(rb"^module_fqn='[\w.]*\.(\w+)',$", re.MULTILINE)
_PARAMS = re.compile(rb"^params=(.*),$", re.MULTILINE)
# Module and operation → phase of the update that the node is in afterwards, and its kernel where it changes.
_STEPS = {
    ("kup_stage", ""): ("prepared", None),
    ("kup_switch", "start"): ("probation", NEW),
    ("kup_fallback", "start"): ("fell_back", OLD),
    ("kup_commit", ""): ("committed", None),
}


class Node:
    """What a node is between two modules; kept in a file, because each task has a process of its own."""

    def __init__(self, name):
        self._directory = Path(os.environ["KUP_CANNED"])
        self._path = self._directory / f"{name}.json"
        self._name = name
        self.table = json.loads((self._directory / "table.json").read_text()).get(name, {})
        self.state = {"kernel": OLD, "phase": "none", "boot": str(uuid.uuid4()), **self.table.get("state", {})}
        if self._path.exists():
            self.state = json.loads(self._path.read_text())

    def log(self, event):
        with (self._directory / "log").open("a") as log:
            log.write(f"{self._name} {event}\n")

    def await_line(self, line):
        """Wait until another node has been asked for this."""
        deadline = time.monotonic() + _PATIENCE
        while line and line not in (self._directory / "log").read_text().splitlines() and time.monotonic() < deadline:
            time.sleep(0.1)

    def step(self, module, operation, instead):
        """Go on to the phase that this leads to, or to another one ``instead``."""
        phase, kernel = _STEPS.get((module, operation), (None, None))
        phase = instead or phase
        if phase:
            boot = str(uuid.uuid4()) if kernel else self.state["boot"]
            self.state = {"phase": phase, "kernel": kernel or self.state["kernel"], "boot": boot}
        self.state.setdefault("boot", str(uuid.uuid4()))
        self._path.write_text(json.dumps(self.state))

    def leave(self):
        """Answer nothing any more."""
        self._path.write_text(json.dumps({**self.state, "gone": True}))

    def note(self, module, arguments):
        """What a module of Ansible writes into the node's log."""
        if not arguments.pop("_ansible_no_log"):
            with (self._directory / f"{self._name}.syslog").open("a") as log:
                log.write(f"{module} {str(arguments)[:_LOGGED]}\n")

    def keep(self, arguments):
        """What the module kup_textfile would write."""
        (self._directory / f"{self._name}.metrics").write_text(json.dumps(arguments))

    def drained(self, arguments=None):
        """The module kup_drain_record with these arguments."""
        path, given = self._directory / f"{self._name}.drained", arguments or {}
        known = (
            json.loads(path.read_text())
            if path.exists()
            else {"places": self.table.get("drained", []), "left": self.table.get("left", "")}
        )
        places, state = set(known["places"]), given.get("state") or "query"
        if state == "present":
            known = {"places": sorted(places.union(given.get("places") or [])), "left": given.get("left") or ""}
        elif state == "absent":
            known = {**known, "places": sorted(places.difference(given.get("places") or []))}
        path.write_text(json.dumps(known))
        return known

    def record(self):
        lines = (
            f"PHASE={self.state['phase']}\nKERNEL_OLD={OLD}\nKERNEL_NEW={NEW}\nENGINE=foam\nUNITS=memcached.service\n"
        )
        return "" if self.state["phase"] == "none" else f"# {hashlib.sha256(lines.encode()).hexdigest()}\n{lines}"

    def status(self):
        head = f"boot {self.state['boot']}\nkernel {self.state['kernel']}\nuptime 100.00\nrestored yes\nbusy 0\n"
        return head + self.record()

    def answer(self, module):
        known = {
            "kup_preflight": self.preflight,
            "kup_switch": self.account,
            "stat": lambda: {"stat": {"exists": False}},
            "kup_gate": lambda: {"numbers": {}},
            "kup_rehearse": lambda: {"units": {}, "notes": [], "blockers": []},
            "kup_status": self.found,
            "kup_info": self.info,
        }
        return {"changed": False, **known.get(module, dict)()}

    def preflight(self):
        kernel, phase = self.state["kernel"], self.state["phase"]
        about = {
            "selector": "7.2",
            "running": kernel,
            "target": NEW,
            "package": None,
            "release": NEW,
            "phase": phase,
            "engine": "foam",
            "disk_checkpoint": "",
            "outage_s": 11.4,
            "outages_s": {"ppp": 11.1, "foam": 11.4, "criu": 13.5},
            "fit": True,
        }
        lists = {name: [] for name in ("problems", "blockers", "notes", "missing", "engine_reasons")}
        units = [{"unit": "memcached.service", "rss_bytes": 64 << 20, "mounts": []}]
        lists["drained"] = self.drained()["places"]
        installed = json.loads((self._directory / "installed.json").read_text())
        about |= {"programs": {}, "runtime": ""} if self.table.get("fresh") else installed
        return {**about, **lists, "units": units, "needs_update": kernel != NEW or phase == "probation"}

    def info(self):
        record = {"phase": self.state["phase"].removeprefix("none"), "kernel_old": OLD, "kernel_new": NEW}
        return {"kup": {"kernel_running": self.state["kernel"], "record": record, "drained": self.drained()["places"]}}

    def found(self):
        """What kup_status has found, with what the table has as "found" in place of its keys."""
        kernel = self.state["kernel"]
        kernels = {
            "running": kernel,
            "built": 1.7e9,
            "uptime_s": 4e6,
            "installed": OLD,
            "available": NEW,
            "target": NEW,
        }
        record = {"reason": "", "data": "", "fresh_units": [], "kernel_old": "", "kernel_new": "", "started": ""}
        lists = {name: [] for name in ("leftovers", "preserved", "drained", "livepatches")}
        status = {
            "looked": 1.8e9,
            "distribution": {"name": "Debian GNU/Linux 13 (trixie)", "refusal": ""},
            "kernel": {**kernels, "needs_update": kernel != NEW},
            "last_update": {**record, "phase": self.state["phase"].removeprefix("none")},
            "reboot": {"required": False, "packages": [], "microcode": False},
            "microcode": {"running": "", "available": "", "is_newer": False},
            "libraries": {"units": [], "complete": True},
        }
        return {"status": {**status, **lists, **self.table.get("found", {})}}

    def account(self):
        about = {"timeline": [], "phases": {}, "outage_s": 1.5, "bytes": 0, "memory": {}, "units": []}
        record = {"phase": self.state["phase"], "kernel_old": OLD, "kernel_new": NEW, "engine": "foam", "reason": ""}
        lists = {"fresh_units": [], "stopped_by": []}
        return {**about, "record": {**record, **lists}, "boot_id": self.state["boot"], "kernel": self.state["kernel"]}


class GoneError(Exception):
    """The node does not answer; the reason is the text."""


def answer(name, command, sent):
    """Bytes that the node ``name`` answers to ``command``, with what was ``sent`` to its standard input: a module, or nothing.

    :raises GoneError: it does not.
    """
    node = Node(name)
    if node.table.get("down") or node.state.get("gone"):
        raise GoneError("No route to host")
    if not sent:
        return node.status().encode() if "restore-done" in command else b"/root\n"
    module = _FQN.search(sent)[1].decode()
    arguments = json.loads(ast.literal_eval(_PARAMS.search(sent)[1].decode()))["ANSIBLE_MODULE_ARGS"]
    operation = arguments.get("op") or arguments.get("state") or ""
    # As every module of Ansible tells what it was given.
    node.note(module, arguments)
    invocation = {"module_args": {key: value for key, value in arguments.items() if not key.startswith("_ansible_")}}
    return json.dumps({"invocation": invocation, **_run(node, module, operation, arguments)}).encode()


def _run(node, module, operation, arguments):
    node.log(f"{module} {operation}".strip())
    said = node.table.get(f"{module} {operation}".strip(), {})
    node.await_line(said.get("after"))
    answer = said.get("answer", {})
    if answer.get("failed"):
        return answer
    first = module in ("kup_commit", "kup_stage") and operation in ("", "committed")
    node.step(module, "" if first else operation, said.get("phase"))
    if said.get("gone"):
        node.leave()
        raise GoneError("Connection reset by peer")
    if module == "kup_textfile":
        node.keep(arguments)
    more = node.drained(arguments) if module == "kup_drain_record" else {}
    return {**node.answer(module), **more, **answer}
