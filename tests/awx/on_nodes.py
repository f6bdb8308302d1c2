"""Plan, canary and fleet as AWX runs them (`job`), on the nodes of a lab that runs.

python3 -m tests.awx.on_nodes --name LAB --out DIR [--engine foam]
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

import yaml

from lab.command import LabError, clean_environment, say
from lab.paths import REPO
from lab.state import Lab
from tests import suite
from tests.awx.job import Job

APPLICATION = REPO / "lab/ansible/vars/memcached.yml"
CANARY = "node2"


class Workflow:
    """Jobs on the nodes of LAB, in folders below OUT."""

    def __init__(self, lab, out, engine):
        self._lab, self._out = lab, out
        # As its browser sends them: every field is a text, the lines of a text area end as HTTP has it.
        self._answers = {
            "kup_kernel": lab.record["image"]["kernel_to"], "kup_units": "memcached.service\r\n", "kup_batches": "1, 100%",
            "kup_max_failed": "", "kup_window": "",
        }  # fmt: skip
        given = yaml.safe_load(APPLICATION.read_text(encoding="utf-8"))
        # What an empty answer leaves, and what no survey asks for.
        group = {
            **given,
            "kup_units": [],
            "kup_max_failed": 1,
            "kup_window": [],
            "kup_engine": engine,
            "kup_rehearse": "off",
        }
        hosts = yaml.safe_load((Path(lab.state) / "inventory.yml").read_text(encoding="utf-8"))
        hosts["memcache"]["vars"] |= group
        self._inventory = {"hosts.yml": yaml.safe_dump(hosts)}
        # ansible-runner adds what it is given to its own.
        for name in set(os.environ) - set(clean_environment()):
            del os.environ[name]
        self._environment = {
            "ANSIBLE_COLLECTIONS_PATH": str(REPO / ".collections"),
            "ANSIBLE_HOST_KEY_CHECKING": "False",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        self._number = 0

    def run(self, template, left=None):
        """Run the job of TEMPLATE, with what the job before has LEFT; return its artifacts.

        :raises LabError: it failed.
        """
        self._number += 1
        folder = self._out / f"job-{self._number}-{template}"
        if folder.exists():
            shutil.rmtree(folder)
        answers = {**self._answers, "canary_hosts": CANARY} if left is not None else self._answers
        job = Job(folder, self._inventory, self._environment, self._number, template, {**answers, **(left or {})})
        if job.done.rc:
            raise LabError(f"The job {template} ended with {job.done.rc}: {job.said[-1500:]}")
        say(f"the job {template} has ended well")
        return job.artifacts


def expect(what, found, expected):
    if found != expected:
        raise LabError(f"{what}: {found}, expected {expected}.")


def rows(artifacts):
    """Return {node: its row of the report} of what a job has left."""
    return {row["name"]: row for row in artifacts["kernel_rollout"]["report"]["nodes"]}


def work(args):
    lab = Lab(args.name)
    nodes = [node["name"] for node in lab.record["nodes"]]
    workflow = Workflow(lab, args.out, args.engine)
    plan = workflow.run("plan")["kernel_plan"]
    expect("The plan", {row["name"]: row["verdict"] for row in plan["nodes"]}, dict.fromkeys(nodes, "update"))
    left = workflow.run("canary", {})
    expect("The canary", {name: row["result"] for name, row in rows(left).items()}, {CANARY: "committed"})
    left = workflow.run("fleet", left)
    expect("The rollout", left["kernel_rollout"]["result"], "committed")
    wanted = {name: "up_to_date" if name == CANARY else "committed" for name in nodes}
    expect("The fleet", {name: row["result"] for name, row in rows(left).items()}, wanted)
    image = lab.record["image"]
    for name, row in rows(left).items():
        if name != CANARY:
            expect(name, (row["kernel_before"], row["kernel_after"]), (image["kernel_from"], image["kernel_to"]))
            if not row["outage_s"]:
                raise LabError(f"The report that the job has left does not tell the outage of {name}: {row}")


def arguments():
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.awx.on_nodes", description=__doc__.split("\n", maxsplit=1)[0]
    )
    parser.add_argument("--name", required=True, help="the lab's name")
    parser.add_argument("--out", required=True, type=Path, help="directory for the jobs' folders")
    parser.add_argument("--engine", default="foam", help="(default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    options = arguments()
    suite.end("awx", lambda: work(options))
