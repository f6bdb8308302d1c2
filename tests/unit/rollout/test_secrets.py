# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets in what the gate asks are nowhere in what a rollout leaves: the real playbook, with nodes of a table."""

from __future__ import annotations

import json

import atonce
import pytest

from ansible_collections.kup.fleet.plugins.module_utils._update import gate
from tests.rollout.nodes import Rollout

SECRET = "hunter2"
# Nobody listens there.
CHECKS = {
    "kup_gate_commands": [{"argv": ["false", "--password", SECRET]}],
    "kup_gate_uris": [{"url": f"http://me:{SECRET}@127.0.0.1:9/health?token={SECRET}"}],
    "kup_gate_numbers": [
        {"name": "items", "address": "127.0.0.1:9", "send": f"AUTH {SECRET}\r\n", "pattern": r"(\d+)"}
    ],
}


def rollout(folder, checks, **variables):
    """(folder, how the run ended) of a rollout whose first node soaks, and whose second one fails as the library says."""
    failures, _numbers = gate.judge([], [], *CHECKS.values())
    fails = {"kup_gate judge": {"answer": {"failed": True, "msg": " ".join(failures)}}}
    groups = {"caches": {"hosts": ["node1", "node2"], "vars": checks}}
    nodes = Rollout(folder, {"node1": {}, "node2": fails}, groups)
    given = {"kup_kernel": "7.2", "kup_units": ["memcached.service"], "kup_soak_node_hours": 0.0001, **variables}
    return folder, nodes.run("-vvv", **given)


def lists(folder):
    return rollout(folder, CHECKS)


def texts(folder):
    """As a survey gives them."""
    return rollout(folder, {name: json.dumps(value) for name, value in CHECKS.items()})


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return atonce.each(lambda run: run(tmp_path_factory.mktemp(run.__name__)), (lists, texts))


@pytest.mark.parametrize("run", [lists, texts])
def test_no_secret_is_in_the_output_or_the_report(runs, run):
    folder, done = runs[run]
    assert [line for line in done.output.splitlines() if SECRET in line] == []
    left = [path for path in (folder / "report").rglob("*") if path.is_file()]
    logs = list((folder / "nodes").glob("*.syslog"))
    assert left and logs and [path for path in left + logs if SECRET in path.read_text()] == []
    assert done.results == {"node1": "committed", "node2": "fell_back"}
    assert {"node1 kup_gate remember", "node1 kup_gate soak", "node2 kup_gate judge"} <= set(done.asked)


@pytest.mark.parametrize("run", [lists, texts])
def test_the_reason_says_what_has_failed(runs, run):
    _folder, done = runs[run]
    assert "Command 1 of kup_gate_commands (false) ended with 1, expected 0" in done.reason("node2")
    assert "http://127.0.0.1:9/health does not answer" in done.reason("node2")
    assert "127.0.0.1:9 did not tell items" in done.reason("node2")
