# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is done with a node before its switch, by what it needs."""

from __future__ import annotations

import re

import pytest

from tests.rollout.answers import NEW
from tests.rollout.nodes import Rollout

UNITS = {"kup_kernel": "7.2", "kup_units": ["memcached.service"]}
NODES = {
    "plain": {},
    "fresh": {"fresh": True},
    # What apt has brought does not do.
    "lacking": {"kup_preflight": {"answer": {"missing": ["criu"]}}, "apt": {"answer": {"changed": True}}},
    "unfit": {"kup_preflight": {"answer": {"blockers": [{"code": "odd", "sentence": "It is odd."}]}}},
    "noted": {"kup_preflight": {"answer": {"notes": ["A setting has drifted."]}}},
    "newest": {"state": {"kernel": NEW, "phase": "none"}},
    "away": {"down": True},
}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepare") / "run"
    folder.mkdir()
    hook = folder / "after_prepare.yml"
    hook.write_text('- ansible.builtin.debug:\n    msg: "{{ inventory_hostname }} is prepared"\n')
    limits = {"kup_max_failed": 2, "kup_max_unreachable": 2, "kup_install_packages": True}
    return Rollout(folder, NODES).run(kup_hooks={"after_prepare": str(hook)}, **limits, **UNITS)


def asked(done, node):
    return [line.split()[1] for line in done.asked if line.split()[0] == node]


def test_each_node_becomes_what_it_can(done):
    good = dict.fromkeys(("plain", "fresh", "noted"), "committed")
    assert done.results == {**good, "unfit": "failed", "lacking": "failed", "newest": "up_to_date", "away": "lost"}
    assert done.reason("unfit") == "It is odd."
    assert done.reason("lacking") == "The node lacks criu; look at what apt says of it."


def test_what_a_node_has_already_is_not_sent(done):
    assert "kup_runtime" not in asked(done, "plain")
    assert asked(done, "fresh").index("kup_runtime") < asked(done, "fresh").index("kup_stage")


def test_packages_are_installed_before_the_node_is_judged_again(done):
    assert asked(done, "lacking")[:3] == ["kup_preflight", "apt", "kup_preflight"]
    assert "kup_stage" not in asked(done, "lacking")


@pytest.mark.parametrize("node", ["unfit", "newest"])
def test_nothing_is_changed_on_a_node_that_gets_no_update(done, node):
    assert {"kup_stage", "kup_runtime", "kup_switch"}.isdisjoint(asked(done, node))


def test_only_what_a_node_needs_is_told(done):
    assert "A setting has drifted." in done.said
    told = {node for node in NODES if f"{node} is prepared" in done.said}
    assert told == {"plain", "fresh", "noted"}
    assert "Go on " not in done.output  # conditions are no news


@pytest.mark.parametrize("is_read", [False, True])
def test_a_prepared_node_is_written_down_where_it_is_read_before_its_turn(tmp_path, is_read):
    (tmp_path / "run").mkdir()
    hook = tmp_path / "before_switch.yml"
    rows = "query('fileglob', kup_report_dir ~ '/rows/' ~ kup_rollout.run_id ~ '/*.json')"
    hook.write_text(
        f"- ansible.builtin.debug:\n    msg: \"rows {{{{ {rows} | map('basename') | sort | join(' ') }}}} end\"\n"
    )
    metrics = {"kup_rollout_textfile": str(tmp_path / "kup.prom")} if is_read else {}
    done = Rollout(tmp_path / "run", {"first": {}, "second": {}}).run(
        kup_hooks={"before_switch": str(hook)}, **metrics, **UNITS
    )
    first, _second = re.findall(r"rows (.*?) ?end", done.said)
    assert first == ("first.json second.json" if is_read else "")


def test_an_ordinary_node_costs_few_tasks(tmp_path):
    (tmp_path / "run").mkdir()
    done = Rollout(tmp_path / "run", {"first": {}, "second": {}}).run(**UNITS)
    # Each is a process of the controller, also one that is skipped. The first node has those, too, that run once.
    found = re.search(r"^second .* ok=(\d+) .* skipped=(\d+) ", done.output, re.MULTILINE)
    assert int(found[1]) <= 10
    assert int(found[2]) <= 1
    # With its rows in the plan and in the report. Ansible prints a task's name above those of its lines that follow another node's.
    assert len(re.findall(r"\bsecond\b.*", done.output)) <= 15
