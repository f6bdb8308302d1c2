# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plays in which each node goes on at its own pace: Ansible runs what is to be run once for each of their hosts."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

REPO = Path(__file__).resolve().parents[3]
PINNED = "ansible.builtin.host_pinned"


def parsed(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def plays():
    found = [(path.name, play) for path in sorted((REPO / "playbooks").glob("*.yml")) for play in parsed(path)]
    return {f"{name}: {play['name']}": play for name, play in found if play.get("strategy") == PINNED}


def tasks_of(tasks, folder):
    """Yield tasks, those of their blocks, and those of the roles and files that they name; FOLDER has the files."""
    for task in tasks:
        yield task
        for part in ("block", "rescue", "always"):
            yield from tasks_of(task.get(part, []), folder)
        yield from of_file(task, folder)


def of_file(task, folder):
    for kind in ("import", "include"):
        role, name = task.get(f"ansible.builtin.{kind}_role"), task.get(f"ansible.builtin.{kind}_tasks")
        if role:
            place = REPO / "roles" / role["name"].removeprefix("kup.fleet.") / "tasks"
            yield from tasks_of(parsed(place / f"{role.get('tasks_from', 'main')}.yml"), place)
        # A template names a file of the user's.
        if name and "{{" not in name:
            yield from tasks_of(parsed(folder / name), folder)


def test_there_are_some():
    assert len(plays()) == 3


@pytest.mark.parametrize("name", plays())
def test_nothing_in_them_runs_once(name):
    tasks = list(tasks_of(plays()[name]["tasks"], REPO / "playbooks"))
    assert len(tasks) > 10  # those of the roles
    assert [task["name"] for task in tasks if "run_once" in task] == []
