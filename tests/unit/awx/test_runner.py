# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The jobs of the workflow as AWX runs them: by ansible-runner, with the project, answers of surveys, and nodes of a table."""

from __future__ import annotations

import datetime
import json

import pytest

from tests.awx.job import Job
from tests.rollout.answers import NEW, OLD
from tests.rollout.nodes import Rollout

# As the browser sends them: every field is a text, the lines of a text area end as HTTP has it.
ANSWERS = {
    "kup_kernel": "7.2",
    "kup_units": "memcached.service\r\n",
    "kup_batches": "1, 100%",
    "kup_max_failed": "",
    "kup_window": "",
}
NODES = {"node1": {}, "node2": {}, "node3": {}}
# What an empty answer leaves.
GROUP = {"kup_rehearse": "off", "kup_max_failed": 1, "kup_window": []}


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """Plan, and canary and fleet of one workflow."""
    folder = tmp_path_factory.mktemp("runner")
    rollout = Rollout(folder, NODES, {"caches": {"hosts": list(NODES), "vars": GROUP}})
    canary = {**ANSWERS, "canary_hosts": "node2"}

    def job(number, name, answers, limit=""):
        inventory = {"hosts.json": (folder / "hosts.json").read_text()}
        return Job(folder / f"job {number}", inventory, rollout.settings(), number, name, answers, limit)

    plan = job(1, "plan", ANSWERS)
    first = job(2, "canary", canary, limit="node1,node2")
    after = json.loads((folder / "nodes/node2.json").read_text()), (folder / "nodes/log").read_text()
    # A workflow gives its next job what the one before has left, and the answers of its own survey.
    fleet = job(3, "fleet", {**canary, **first.artifacts}, limit="node1,node2")
    stopped = job(4, "canary", {**ANSWERS, "canary_hosts": "node3", "kup_window": closed()})
    return {"plan": plan, "canary": first, "fleet": fleet, "stopped": stopped, "after canary": after}


def closed():
    """A window that is not open, in UTC."""
    opens = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=2)
    return f"{opens:%H:%M}-{opens + datetime.timedelta(hours=1):%H:%M}"


def report(job):
    return json.loads((job.folder / "kup-report/report.json").read_text())


def test_the_plan_is_kept_with_its_job(jobs):
    plan = jobs["plan"]
    assert plan.done.rc == 0, plan.said
    found = plan.artifacts["kernel_plan"]
    assert [(row["name"], row["verdict"], row["batch"]) for row in found["nodes"]] == [
        ("node1", "update", 1),
        ("node2", "update", 2),
        ("node3", "update", 2),
    ]
    assert (found["nodes"][0]["kernel"], found["nodes"][0]["target"]) == (OLD, NEW)


def test_the_canary_is_the_host_of_the_survey(jobs):
    canary = jobs["canary"]
    assert canary.done.rc == 0, canary.said
    state, log = jobs["after canary"]
    assert state["phase"] == "committed"
    assert "node2 kup_switch start" in log
    assert "node1 kup_switch start" not in log and "node3 kup_switch start" not in log
    assert [row["name"] for row in canary.artifacts["kernel_rollout"]["report"]["nodes"]] == ["node2"]


def test_the_fleet_follows_within_the_limit(jobs):
    fleet = jobs["fleet"]
    assert fleet.done.rc == 0, fleet.said
    left = fleet.artifacts["kernel_rollout"]
    assert left["result"] == "committed"
    assert {row["name"]: row["result"] for row in left["report"]["nodes"]} == {
        "node1": "committed",
        "node2": "up_to_date",
    }


def test_the_report_is_kept_with_the_job(jobs):
    report = jobs["fleet"].artifacts["kernel_rollout"]["report"]
    row = next(row for row in report["nodes"] if row["name"] == "node1")
    assert (row["kernel_before"], row["kernel_after"], row["outage_s"]) == (OLD, NEW, 1.5)
    assert report["left_out"] == 0


def test_the_fleet_gets_the_release_of_the_canary(jobs):
    assert jobs["canary"].artifacts["kernel_rollout"]["release"] == NEW
    assert report(jobs["canary"])["rollout"]["kernel"] == "7.2"
    assert report(jobs["fleet"])["rollout"]["kernel"] == NEW


def test_a_canary_that_has_stopped_fails_and_leaves_why(jobs):
    stopped = jobs["stopped"]
    left = stopped.artifacts["kernel_rollout"]
    assert (stopped.done.rc, left["result"], left["release"]) == (2, "stopped", "")
    assert f"The rollout stopped: {left['reason']} (kup_stopped_fails)." in stopped.said


def test_the_audit_trail_names_who_launched_the_job(jobs):
    lines = (jobs["canary"].folder / "kup-report/audit.jsonl").read_text().splitlines()
    assert {json.loads(line)["user"] for line in lines} == {"alice, AWX job 2"}
