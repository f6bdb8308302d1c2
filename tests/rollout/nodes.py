"""Run a playbook of this tree against nodes that a table answers for, see `tests.rollout`."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.kup.fleet.plugins.plugin_utils import _programs, _sent
from lab.command import clean_environment

REPO = Path(__file__).resolve().parents[2]
CONNECTIONS = Path(__file__).parent / "connection"
# Built by make, and not looked into: the nodes do not run them.
PROGRAMS = (
    "paged/paged",
    "environment/environment",
    "fingerprint/fingerprint",
    "ends/kup_pairs.so",
    "sums/kup_sums.so",
)
_LIMIT = 300  # seconds; a run takes ten on an idle machine


@dataclass(frozen=True)
class Done:
    """How a run ended: ``code``, its ``output``, its ``report`` and ``plan`` (empty if there is none), and what each node was asked, in
    order.
    """

    code: int
    output: str
    report: dict
    plan: dict
    asked: list

    @property
    def said(self):
        """The output without line breaks: long messages are wrapped."""
        return " ".join(self.output.split())

    @property
    def results(self):
        return {row["name"]: row["result"] for row in self.report.get("nodes", [])}

    def reason(self, node):
        return next(row["reason"] for row in self.report["nodes"] if row["name"] == node)

    def switched(self):
        """Names of the nodes whose switch was started, in order."""
        return [line.split()[0] for line in self.asked if line.endswith(" kup_switch start")]


class Rollout:
    """Nodes, and a folder for their states.

    :param nodes: dict name → what its table has (`answers.py`): ``down`` (never answers); ``state`` (a dict with
        ``kernel``, ``phase``); ``fresh`` (no rollout has installed anything there before); ``drained``, ``left`` (what the module
        kup_drain_record has of an earlier rollout); ``found`` (keys of what the module kup_status finds); and by
        module and operation, such as ``"kup_gate judge"``, a dict with ``answer`` (keys of the module's result), ``after`` (what another
        node must have been asked for before, such as ``"node1 kup_fallback start"``), ``gone`` (the connection breaks, for
        ever), ``phase`` (of the update, that it leads to).
    :param groups: dict name → dict with ``hosts`` (names) and ``vars``.
    :param reached: dict name → variables of the inventory, of nodes that another connection leads to (`over_ssh`).
    """

    def __init__(self, folder, nodes, groups=None, reached=None):
        self._folder, self._reached = folder, reached or {}
        # Of all rollouts of one session of tests.
        self._modules = folder.parent / "packed modules"
        self._modules.mkdir(exist_ok=True)
        self._nodes = nodes
        self._groups = groups or {}
        self.canned.mkdir()
        (self.canned / "table.json").write_text(json.dumps(nodes))
        fleet = _link_collection(folder)
        # As after an earlier rollout.
        installed = {"programs": _programs.digests(str(fleet / "files")), "runtime": _sent.digest(fleet)}
        (self.canned / "installed.json").write_text(json.dumps(installed))
        self._write_inventory()

    @property
    def canned(self):
        """The directory of what the nodes answer, and are between two modules."""
        return self._folder / "nodes"

    def _write_inventory(self):
        common = {"ansible_connection": "canned", "ansible_python_interpreter": "/usr/bin/python3"}
        children = {
            name: {"hosts": dict.fromkeys(group["hosts"]), "vars": group.get("vars", {})}
            for name, group in self._groups.items()
        }
        inventory = {
            "all": {
                "hosts": {name: self._reached.get(name) for name in self._nodes},
                "vars": common,
                "children": children,
            }
        }
        (self._folder / "hosts.json").write_text(json.dumps(inventory))

    def drop(self, node):
        """Take ``node`` out of the inventory."""
        del self._nodes[node]
        self._write_inventory()

    def settings(self):
        """Dict of what the environment of Ansible has to have."""
        return {
            "ANSIBLE_COLLECTIONS_PATH": str(self._folder / "collections"),
            "ANSIBLE_CONNECTION_PLUGINS": str(CONNECTIONS),
            "ANSIBLE_PIPELINING": "1",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_LOCAL_TEMP": str(self._folder / "tmp"),
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self._folder / "cp"),
            "KUP_CANNED": str(self.canned),
            "KUP_CANNED_MODULES": str(self._modules),
        }

    def run(self, *words, playbook="kup_update", limit=_LIMIT, **variables):
        """Run ``playbook`` with more ``words`` and ``variables`` of the command line, ``limit`` seconds at most; returns `Done`."""
        report = self._folder / "report"
        given = {"kup_report_dir": str(report), "kup_rehearse": "off", **variables}
        settings = {"ANSIBLE_CONFIG": str(REPO / "ansible.cfg"), **self.settings()}
        program = Path(sys.executable).with_name("ansible-playbook")
        words = ["-i", self._folder / "hosts.json", f"kup.fleet.{playbook}", "-e", json.dumps(given), *words]
        done = subprocess.run(
            [program, *words],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self._folder,
            env={**clean_environment(), **settings},
            timeout=limit,
        )
        newest = report / "report.json"
        plans = sorted(report.glob("plans/*.json"))
        log = self.canned / "log"
        return Done(
            done.returncode,
            done.stdout,
            json.loads(newest.read_text()) if newest.exists() else {},
            json.loads(plans[-1].read_text()) if plans else {},
            log.read_text().splitlines() if log.exists() else [],
        )


def _link_collection(folder):
    """The collection as it is in this tree, but for the programs in C: files of their names instead."""
    fleet = folder / "collections/ansible_collections/kup/fleet"
    (fleet / "files").mkdir(parents=True)
    for name in ("playbooks", "plugins", "roles", "meta", "galaxy.yml"):
        (fleet / name).symlink_to(REPO / name)
    for path in (REPO / "files").iterdir():
        if not any(name.startswith(f"{path.name}/") for name in PROGRAMS):
            (fleet / "files" / path.name).symlink_to(path)
    for name in PROGRAMS:
        (fleet / "files" / name).parent.mkdir()
        (fleet / "files" / name).write_text("")
    return fleet
