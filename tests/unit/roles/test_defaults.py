# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The roles' defaults, their argument specs and the playbooks' mapping say the same."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

COLLECTION = Path(__file__).parents[3]
ROLES = ("kup", "kup_checkpoint", "kup_kexec", "kup_restore")


def load(path):
    return yaml.safe_load((COLLECTION / path).read_text(encoding="utf-8"))


def specs(role):
    return load(f"roles/{role}/meta/argument_specs.yml")["argument_specs"]


@pytest.mark.parametrize("role", ROLES)
def test_each_entry_point_is_described(role):
    # What is only ever included by another task file is no entry point.
    files = {path.stem for path in (COLLECTION / "roles" / role / "tasks").glob("*.yml")}
    assert files == set(specs(role))


@pytest.mark.parametrize("role", ROLES)
def test_each_default_is_described(role):
    defaults, options = load(f"roles/{role}/defaults/main.yml"), specs(role)["main"]["options"]
    assert set(defaults) == set(options)
    for name, value in defaults.items():
        if "default" in options[name]:
            assert options[name]["default"] == value, name
        else:  # must be given, or is made at run time
            assert options[name].get("required") or "{{" in value, name


def test_a_role_alone_has_the_defaults_of_the_playbooks():
    public, mapping = load("roles/kup/defaults/main.yml"), load("playbooks/vars/roles.yml")
    for role in ROLES[1:]:
        for name, value in load(f"roles/{role}/defaults/main.yml").items():
            source = mapping.get(name, "").strip("{} ")
            if source in public and value and public[source]:
                assert value in (public[source], "newest"), name


def test_every_variable_of_a_role_has_a_source():
    known = {name for role in ROLES[1:] for name in load(f"roles/{role}/defaults/main.yml")}
    # Given where the entry point is called.
    assert known - set(load("playbooks/vars/roles.yml")) == {
        "kup_restore_committed",
        "kup_restore_gone",
        "kup_restore_reason",
        "kup_restore_remote_timeout",
    }
