# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Task files that end at once for most nodes, by end_role."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from ansible_collections.kup.fleet.plugins.plugin_utils import _extras

ROLES = Path(__file__).resolve().parents[3] / "roles"


def gated():
    files = {path: yaml.safe_load(path.read_text(encoding="utf-8")) for path in ROLES.glob("*/tasks/*.yml")}
    return {path: tasks for path, tasks in files.items() if tasks[0].get("ansible.builtin.meta") == "end_role"}


def test_gates_ask_for_what_the_plan_knows():
    specs = yaml.safe_load((ROLES / "kup/meta/argument_specs.yml").read_text(encoding="utf-8"))
    hooks = specs["argument_specs"]["main"]["options"]["kup_hooks"]["options"]
    known = {*_extras.VARIABLES, *(f"{_extras.HOOKS}.{event}" for event in hooks)}
    texts = "".join(path.read_text(encoding="utf-8") for path in gated())
    asked = set(re.findall(r"'([^']*)' (?:not )?in __kup_extras", texts))
    assert len(asked) > 10
    assert asked <= known


def test_there_are_some():
    assert len(gated()) > 5


@pytest.mark.parametrize("path", gated(), ids=lambda path: str(path.relative_to(ROLES)))
def test_no_role_is_imported_behind_the_end(path):
    text = path.read_text(encoding="utf-8")
    imported = [
        (path.parent / name).read_text(encoding="utf-8")
        for line in text.splitlines()
        for key, _colon, name in [line.strip().partition(": ")]
        if key == "ansible.builtin.import_tasks"
    ]
    assert [each for each in [text, *imported] if "ansible.builtin.import_role" in each] == []
