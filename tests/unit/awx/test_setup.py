# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The setup of AWX, by the real modules of awx.awx, against an API that answers as AWX does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lab.command import clean_environment
from tests.awx.server import Awx

REPO = Path(__file__).resolve().parents[3]
COLLECTIONS = REPO / "build/awx"
GIVEN = {
    "awx_credential": "nodes",
    "awx_project_url": "https://git.example.org/fleet.git",
    "awx_notification_type": "webhook",
    "awx_notification_configuration": {"url": "https://hooks.example.org/kup", "http_method": "POST", "headers": {}},
    "awx_lock": "/shared/kup-lock",
}


def playbook_names():
    return {path.name for path in (REPO / "awx/project").glob("*.yml")}


def run(awx, folder, **given):
    settings = {
        "ANSIBLE_CONFIG": str(REPO / "awx/project/ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_LOCAL_TEMP": str(folder / "tmp"),
        "CONTROLLER_HOST": awx.host,
        "CONTROLLER_OAUTH_TOKEN": awx.token,
        "HOME": str(folder),
    }
    program = Path(sys.executable).with_name("ansible-playbook")
    return subprocess.run(
        [program, REPO / "awx/setup.yml", "-e", json.dumps(given)],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**clean_environment(), **settings},
        timeout=300,
    )


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """(AWX after two runs, the first run, the second run)."""
    folder = tmp_path_factory.mktemp("awx")
    with Awx(playbook_names()) as awx:
        awx.add("organizations", name="Default")
        awx.add("credentials", name="nodes")
        yield awx, run(awx, folder, **GIVEN), run(awx, folder, **GIVEN)


def template(awx, name):
    return awx.named("job_templates", f"kup {name}")


def test_both_runs_succeed(done):
    _awx, first, second = done
    assert first.returncode == 0, first.stdout + first.stderr
    assert second.returncode == 0, second.stdout + second.stderr


def test_a_second_run_makes_nothing_twice(done):
    awx, _first, second = done
    for kind in (
        "projects",
        "inventories",
        "job_templates",
        "workflow_job_templates",
        "schedules",
        "workflow_approval_templates",
    ):
        names = [item["name"] for item in awx.all(kind)]
        assert names and len(names) == len(set(names)), kind
    changed = [line for line in second.stdout.splitlines() if line.startswith("changed: ")]
    # The module says so of each approval, whatever it finds.
    assert changed == ["changed: [localhost]"], second.stdout


def test_every_job_template_runs_whole_and_alone(done):
    awx, _first, _second = done
    assert {item["name"] for item in awx.all("job_templates")} == {
        f"kup {name}" for name in ("plan", "canary", "fleet", "fallback", "status", "ready")
    }
    for item in awx.all("job_templates"):
        assert (item["job_slice_count"], item["ask_job_slice_count_on_launch"], item["allow_simultaneous"]) == (
            1,
            False,
            False,
        )
        assert item["ask_limit_on_launch"] and item["become_enabled"]
        assert json.loads(item["extra_vars"])["kup_lock"] == "/shared/kup-lock"
        assert awx.linked("job_templates", item, "credentials") == [awx.named("credentials", "nodes")["id"]]


def test_the_plan_is_a_check_and_the_others_are_not(done):
    awx, _first, _second = done
    kinds = {item["name"]: item["job_type"] for item in awx.all("job_templates")}
    assert kinds.pop("kup plan") == "check"
    assert set(kinds.values()) == {"run"}
    assert [item["name"] for item in awx.all("job_templates") if item["ask_job_type_on_launch"]] == ["kup ready"]


def test_surveys_ask_for_variables_that_there_are(done):
    awx, _first, _second = done
    known = set()
    for path in REPO.glob("roles/*/meta/argument_specs.yml"):
        for entry in yaml.safe_load(path.read_text())["argument_specs"].values():
            known |= set(entry["options"])
    asked = {question["variable"] for item in awx.all("job_templates") for question in awx.survey(item)}
    assert {"kup_kernel", "kup_units", "kup_window", "kup_ready_window", "canary_hosts"} <= asked
    assert asked - known == {"canary_hosts"}


def test_the_canary_takes_its_hosts_from_its_survey(done):
    awx, _first, _second = done
    assert json.loads(template(awx, "canary")["extra_vars"])["kup_hosts"] == "{{ canary_hosts }}"
    assert "kup_hosts" not in json.loads(template(awx, "fleet")["extra_vars"])


def test_the_canary_has_to_have_its_turn_and_the_fleet_gets_its_release(done):
    awx, _first, _second = done
    variables = {name: json.loads(template(awx, name)["extra_vars"]) for name in ("canary", "fleet")}
    assert variables["canary"]["kup_stopped_fails"] is True and "kup_stopped_fails" not in variables["fleet"]
    assert (
        "kernel_rollout" in variables["fleet"]["kup_kernel_release"] and "kup_kernel_release" not in variables["canary"]
    )


def test_the_workflow_goes_from_the_canary_by_an_approval_to_the_fleet(done):
    awx, _first, _second = done
    workflow = awx.named("workflow_job_templates", "kup rollout")
    nodes = {item["identifier"]: item for item in awx.all("workflow_job_template_nodes")}
    assert set(nodes) == {"canary", "approval", "fleet"}
    assert nodes["canary"]["unified_job_template"] == template(awx, "canary")["id"]
    assert nodes["fleet"]["unified_job_template"] == template(awx, "fleet")["id"]
    approval = awx.named("workflow_approval_templates", "kup approval")
    assert (nodes["approval"]["unified_job_template"], approval["timeout"]) == (approval["id"], 86400)
    for before, after in (("canary", "approval"), ("approval", "fleet")):
        linked = awx.linked("workflow_job_template_nodes", nodes[before], "success_nodes")
        assert linked == [nodes[after]["id"]]
    assert workflow["ask_limit_on_launch"] and not workflow["allow_simultaneous"]
    assert awx.survey(workflow)[0]["variable"] == "canary_hosts"
    notified = awx.named("notification_templates", "kup notification")["id"]
    assert awx.linked("workflow_job_templates", workflow, "notification_templates_approvals") == [notified]


def test_the_nightly_schedule_has_a_window_and_is_off(done):
    awx, _first, _second = done
    nightly = awx.named("schedules", "kup fleet nightly")
    assert (nightly["extra_data"], nightly["enabled"]) == (
        {"kup_window": "02:00-04:30", "kup_window_patience": "3600"},
        False,
    )
    assert awx.named("schedules", "kup status daily")["unified_job_template"] == template(awx, "status")["id"]


def test_what_cannot_be_guessed_has_to_be_given(tmp_path):
    with Awx(playbook_names()) as awx:
        refused = run(awx, tmp_path)
        assert refused.returncode != 0
        assert "awx_credential is '' and awx_project_url is '', expected both" in " ".join(
            refused.stdout.split()
        ).replace("''''", "''")
        assert awx.all("job_templates") == []
