# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every module has an action of this collection, and every message names what a user can type."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

COLLECTION = Path(__file__).parents[3]
MODULES = sorted(path.stem for path in (COLLECTION / "plugins/modules").glob("*.py"))
ACTIONS = {path.stem for path in (COLLECTION / "plugins/action").glob("*.py")}


@pytest.mark.parametrize("module", MODULES)
def test_a_node_that_cannot_be_reached_has_failed(module):
    """Ansible's own action would take the node out of the play, past ``rescue`` and ``always``."""
    routing = yaml.safe_load((COLLECTION / "meta/runtime.yml").read_text(encoding="utf-8"))["plugin_routing"]["modules"]
    action = routing.get(module, {}).get("action_plugin", f"kup.fleet.{module}")
    assert action.removeprefix("kup.fleet.") in ACTIONS


def test_no_message_names_a_playbook_file():
    """Users of the collection have no such file; they type ``ansible-playbook kup.fleet.NAME``."""
    named = {
        (path.name, found)
        for path in (COLLECTION / "plugins").rglob("*.py")
        for found in re.findall(r"\bkup[_-]\w+\.yml\b", path.read_text(encoding="utf-8"))
    }
    assert named == set()
