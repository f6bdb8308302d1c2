# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings of Ansible that nobody has made are said once, before a rollout of many nodes: the real playbook, up to its plan."""

from __future__ import annotations

import atonce
import pytest

from tests.rollout.nodes import Rollout

FORKS = "nodes, and Ansible works on 5 at once, its default; set forks in [defaults] of ansible.cfg, ANSIBLE_FORKS or --forks"
PIPELINING = "Pipelining is off for {} nodes, so that Ansible copies each module to a file before it runs it; set pipelining = True"
SSH = {"ansible_connection": "ssh"}


class Unset(Rollout):
    """Of an operator whose configuration has what the file ansible.cfg in the rollout's folder has, and nothing else."""

    def settings(self):
        known = {name: value for name, value in super().settings().items() if name != "ANSIBLE_PIPELINING"}
        return {**known, "ANSIBLE_CONFIG": str(self.canned.parent / "ansible.cfg")}


def said(folder, count, *words, own=None, settings=""):
    """What a rollout of ``count`` nodes says, of which all but the first have variables of their ``own``; its plan is refused, so that none of
    them is asked.
    """
    (folder / "ansible.cfg").write_text(settings)
    names = [f"node{number}" for number in range(count)]
    # The first one's connection is that of the task.
    reached = {name: {**SSH, **(own or {})} for name in names} | {names[0]: SSH}
    rollout = Unset(folder, dict.fromkeys(names, {}), reached=reached)
    done = rollout.run(*words, kup_kernel="7.2")
    assert "kup_units" in done.said
    assert done.asked == []
    return done.said


CASES = {
    "many": (26, (), {}),
    "few": (20, (), {}),
    "some": (25, (), {}),
    "forks": (26, ("--forks", "6"), {"settings": "[defaults]\npipelining = True\n"}),
    "chosen": (26, (), {"settings": "[defaults]\nforks = 5\n[ssh_connection]\npipelining = True\n"}),
    "own": (26, (), {"own": {"ansible_pipelining": False}}),
    "strange": (26, (), {"own": {"ansible_connection": "nobody.has.installed"}}),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    def run(name):
        count, words, more = CASES[name]
        return said(tmp_path_factory.mktemp(name), count, *words, **more)

    return atonce.each(run, CASES)


def test_both_are_said_once(runs):
    assert runs["many"].count(f"[WARNING]: The rollout has 26 {FORKS}") == 1
    assert runs["many"].count(f"[WARNING]: {PIPELINING.format(26)}") == 1


@pytest.mark.parametrize(
    ("name", "forks", "pipelining"),
    [
        ("few", False, False),
        ("some", False, True),
        ("forks", False, False),
        ("chosen", False, False),
        ("own", True, False),
        ("strange", True, False),
    ],
)
def test_what_is_enough_or_was_decided_is_not_said(runs, name, forks, pipelining):
    assert (FORKS in runs[name], "Pipelining is off" in runs[name]) == (forks, pipelining)
