# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rollouts with another configuration than this repository's, and with an inventory that is not all right."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import pytest
import yaml

from ansible_collections.kup.fleet.plugins.plugin_utils import _lock
from tests.rollout.hooks import hooks
from tests.rollout.nodes import Rollout

PLAYBOOKS = Path(__file__).resolve().parents[3] / "playbooks"
UNITS = {"kup_kernel": "7.2", "kup_units": ["memcached.service"]}


@pytest.fixture
def lock():
    """A directory that would outlive a container."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        yield directory


class Free(Rollout):
    """Of an operator whose own playbooks let each host go on by itself."""

    def settings(self):
        return {**super().settings(), "ANSIBLE_STRATEGY": "free"}


def test_each_play_has_its_own_strategy():
    plays = [
        play
        for path in PLAYBOOKS.glob("kup_*.yml")
        for play in yaml.safe_load(path.read_text(encoding="utf-8"))
        if "hosts" in play
    ]
    # What runs once would run for each host by strategy free; no play of `host_pinned` has such a task.
    own = ("ansible.builtin.linear", "ansible.builtin.host_pinned")
    assert [play["name"] for play in plays if play.get("strategy") not in own] == []


def test_the_canary_is_first_whatever_the_strategy_of_the_configuration(tmp_path):
    (tmp_path / "run").mkdir()
    rollout = Free(tmp_path / "run", {"node1": {}, "node2": {}, "node3": {}})
    done = rollout.run(kup_batches=[1, "100%"], **UNITS)
    assert done.results == dict.fromkeys(("node1", "node2", "node3"), "committed")
    asked = [tuple(line.split()[:2]) for line in done.asked]
    others = min(asked.index((node, "kup_switch")) for node in ("node2", "node3"))
    assert asked.index(("node1", "kup_commit")) < others
    # One plan for all.
    assert len(list((tmp_path / "run" / "report").glob("2*.json"))) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--tags", "prepare"), "--tags is prepare, expected none: no task of this playbook has a tag"),
        (("--skip-tags", "untagged"), "--skip-tags is untagged, which leaves nothing to do"),
    ],
)
def test_a_part_of_an_update_is_refused(tmp_path, words, said):
    (tmp_path / "run").mkdir()
    done = Rollout(tmp_path / "run", {"node1": {}}).run(*words, **UNITS)
    assert (done.code, done.asked) == (2, [])
    assert said in done.said


def test_tags_of_hooks_may_be_skipped(tmp_path):
    (tmp_path / "run").mkdir()
    assert Rollout(tmp_path / "run", {"node1": {}}).run("--skip-tags", "slow", **UNITS).results == {
        "node1": "committed"
    }


def test_hosts_cannot_be_chosen_by_the_inventory(tmp_path):
    (tmp_path / "run").mkdir()
    rollout = Rollout(
        tmp_path / "run", {"node1": {}, "node2": {}}, {"some": {"hosts": ["node1"], "vars": {"kup_hosts": "some"}}}
    )
    done = rollout.run(playbook="kup_fallback", kup_committed=True)
    assert (done.code, done.asked) == (2, [])
    assert (
        "host node1: kup_hosts is a variable of the inventory, where it has no effect; give it on the command line"
        in done.said
    )


def test_a_report_that_cannot_begin_leaves_no_lock(tmp_path, lock):
    (tmp_path / "run").mkdir()
    (tmp_path / "file").write_text("")
    rollout = Rollout(tmp_path / "run", {"node1": {}, "node2": {}})
    done = rollout.run(kup_lock=lock, kup_report_dir=str(tmp_path / "file"), **UNITS)
    assert (done.code, done.asked) == (2, [])
    assert "set kup_report_dir to a directory of yours" in done.said
    assert _lock.look(lock, time.time()) is None


def test_a_hook_that_fails_after_a_way_back_ends_nothing_but_itself(tmp_path, lock):
    (tmp_path / "run").mkdir()
    commands = {"after_fallback": "exit 3", "after_node": "echo node1 ended {{ kup_node_result }} >>$LOG"}
    deaf = {"kup_gate judge": {"answer": {"failed": True, "msg": "Port 11211 does not answer."}}}
    rollout = Rollout(tmp_path / "run", {"node1": deaf, "node2": {}})
    done = rollout.run(kup_hooks=hooks(tmp_path / "run", {"node1": commands}), kup_lock=lock, **UNITS)
    assert done.results == {"node1": "fell_back", "node2": "untouched"}
    assert done.reason("node1").startswith("Port 11211 does not answer.; and then: kup_hooks.after_fallback: ")
    assert "node1 ended fell_back" in done.asked
    assert _lock.look(lock, time.time()) is None


def test_a_node_to_which_no_connection_can_be_made_fails_alone(tmp_path):
    (tmp_path / "run").mkdir()
    # Texts of its own, as of a group that has them from a survey.
    broken = {"ansible_connection": "nobody.has.installed", "kup_units": "memcached.service\nredis-server.service"}
    whole = {"kup_units": ["memcached.service"]}
    rollout = Rollout(tmp_path / "run", {"node1": {}, "node2": {}}, reached={"node1": whole, "node2": broken})
    done = rollout.run(kup_kernel="7.2", kup_max_failed=1, kup_max_unreachable=1)
    assert done.results["node1"] == "committed"
    assert done.results["node2"] != "committed"
