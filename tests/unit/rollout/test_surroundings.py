# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rollouts with another configuration than this repository's, and with an inventory that is not all right."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.rollout.nodes import Rollout

PLAYBOOKS = Path(__file__).resolve().parents[3] / "playbooks"
UNITS = {"kup_kernel": "7.2", "kup_units": ["memcached.service"]}


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


def test_a_node_to_which_no_connection_can_be_made_fails_alone(tmp_path):
    (tmp_path / "run").mkdir()
    # Texts of its own, as of a group that has them from a survey.
    broken = {"ansible_connection": "nobody.has.installed", "kup_units": "memcached.service\nredis-server.service"}
    whole = {"kup_units": ["memcached.service"]}
    rollout = Rollout(tmp_path / "run", {"node1": {}, "node2": {}}, reached={"node1": whole, "node2": broken})
    done = rollout.run(kup_kernel="7.2", kup_max_failed=1, kup_max_unreachable=1)
    assert done.results["node1"] == "committed"
    assert done.results["node2"] != "committed"
