# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who needs an update: the real playbook, with nodes of a table."""

from __future__ import annotations

import json
import stat

import pytest

from tests.exposition import parse
from tests.rollout.answers import NEW, OLD
from tests.rollout.nodes import Rollout

UNITS = [{"unit": "nginx.service", "count": 1, "files": ["libssl.so.3"]}]
REFUSAL = "The distribution Rocky Linux is one on which nobody has tried an update."
KERNELS = {
    "running": NEW,
    "built": None,
    "uptime_s": 4e6,
    "installed": NEW,
    "available": "",
    "target": NEW,
    "needs_update": None,
}
NODES = {
    "node1": {"state": {"kernel": NEW}},
    "node2": {},
    "node3": {"down": True},
    "node4": {"state": {"kernel": NEW}, "found": {"libraries": {"units": UNITS, "complete": True}}},
    "node6": {"found": {"distribution": {"name": "Rocky Linux", "refusal": REFUSAL}, "kernel": KERNELS}},
    "node5": {"kup_textfile": {"answer": {"failed": True, "msg": "kup_textfile_dir needs the directory '/x'."}}},
}


def run(folder, nodes, *words, **variables):
    return Rollout(folder, nodes).run(*words, playbook="kup_status", **variables)


@pytest.fixture(scope="module")
def looked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("looked")
    given = {"kup_status_textfile": f"{folder}/kup_status.prom", "kup_textfile_dir": "/x"}
    return folder, run(folder, NODES, **given)


def test_a_table_with_the_neediest_first(looked):
    _folder, done = looked
    lines = [line.split() for line in done.output.splitlines()]
    first = next(number for number, words in enumerate(lines) if words[:2] == ["node", "needs"])
    assert [words[:2] for words in lines[first + 1 : first + 7]] == [
        ["node3", "look"],
        ["node6", "look"],
        ["node2", "update"],
        ["node5", "update"],
        ["node4", "restart"],
        ["node1", "nothing"],
    ]
    assert f"node2 update {OLD} -> {NEW} 46 d never" in done.said
    assert "old code in nginx.service (libssl.so.3)" in done.said
    assert "needs: 2 look, 2 update, 1 restart, 1 nothing" in done.said


def test_it_is_written_down_beside_the_reports_and_not_among_them(looked):
    folder, _done = looked
    assert not list((folder / "report").glob("*.json"))
    path = folder / "report/status/status.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    nodes = json.loads(path.read_text())["nodes"]
    assert [node["name"] for node in nodes] == ["node3", "node6", "node2", "node5", "node4", "node1"]
    assert nodes[1]["reason"] == REFUSAL
    assert nodes[2]["status"]["kernel"]["target"] == NEW


def test_metrics_of_all_nodes_for_everybody(looked):
    folder, _done = looked
    path = folder / "kup_status.prom"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    found = parse(path.read_text())
    assert found["kup_update_needed"][(("node", "node2"),)] == 1.0
    assert found["kup_status_known"][(("node", "node3"),)] == 0.0


def test_nodes_are_asked_for_nothing_else(looked):
    _folder, done = looked
    assert {line.split()[1] for line in done.asked} == {"kup_status", "kup_textfile"}
    assert "node4 kup_textfile" in done.asked


def test_only_nodes_that_could_not_be_looked_at_or_written_to_fail(looked):
    _folder, done = looked
    assert done.code != 0
    said = done.said.replace("''", "'")
    assert "node3: node3 cannot be reached: No route to host" in said
    assert "node5: kup_textfile_dir needs the directory '/x'." in said
    assert [line.split()[0] for line in done.output.splitlines() if "failed=1" in line] == ["node3", "node5"]


def written(folder):
    nodes = json.loads((folder / "report/status/status.json").read_text())["nodes"]
    known = parse((folder / "kup_status.prom").read_text())["kup_status_known"]
    assert {dict(labels)["node"] for labels in known} == {node["name"] for node in nodes}
    return {node["name"]: node["time"] for node in nodes}


def test_a_run_with_some_of_the_nodes_keeps_the_others_while_the_inventory_has_them(tmp_path):
    given = {"kup_status_textfile": f"{tmp_path}/kup_status.prom"}
    rollout = Rollout(tmp_path, dict.fromkeys(("node1", "node2", "node3"), {}))
    rollout.run(playbook="kup_status", **given)
    first = written(tmp_path)
    assert set(first) == {"node1", "node2", "node3"}
    rollout.drop("node3")
    done = rollout.run("-l", "node1", playbook="kup_status", **given)
    assert "needs: 1 update" in done.said
    second = written(tmp_path)
    assert second["node2"] == first["node2"]
    assert second["node1"] > first["node1"]
    assert set(second) == {"node1", "node2"}
    # Of a slice the inventory has no other nodes.
    rollout.drop("node2")
    rollout.run(playbook="kup_status", awx_job_template_name="status", awx_workflow_job_name="status", **given)
    assert set(written(tmp_path)) == {"node1", "node2"}


def test_a_check_writes_nothing(tmp_path):
    given = {"kup_status_textfile": f"{tmp_path}/kup_status.prom", "kup_textfile_dir": "/x"}
    done = run(tmp_path, {"node1": {}}, "--check", **given)
    assert done.code == 0
    assert "needs: 1 update" in done.said
    assert not list(tmp_path.rglob("status.json")) + list(tmp_path.rglob("*.prom"))


def test_a_release_without_quotes_is_refused_and_the_table_is_shown_in_any_case(tmp_path):
    done = run(tmp_path, {"node1": {}}, kup_status_textfile=f"{tmp_path}/kup_status.txt", kup_kernel=6.1)
    assert done.code != 0
    assert done.asked == []
    assert "node1 look kup_kernel is 6.1, expected a text; quote it" in done.said
    assert "expected an absolute path that ends with .prom in a directory that exists" in done.said
