# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Argument specifications of roles and the documentation of modules offer the engines of the registry, no more and no fewer."""

import pathlib
import re

import pytest
import yaml

from ansible_collections.kup.fleet.plugins.module_utils._engines import registry

REPO = pathlib.Path(__file__).resolve().parents[2]
OFFERED = {
    "engine": registry.NAMES,
    "disk_checkpoint": registry.DISK_CHECKPOINTS,
    "survive": registry.OPTIONS["survive"]["choices"],
}


def options(tree):
    """Every (name, specification) of an option with choices in a YAML document."""
    if not isinstance(tree, dict):
        return
    for name, value in tree.items():
        if isinstance(value, dict) and "choices" in value:
            yield name, value
        yield from options(value)


def documents():
    for path in sorted(REPO.glob("roles/*/meta/argument_specs.yml")):
        yield path.parts[-3], yaml.safe_load(path.read_text())
    for path in [*sorted(REPO.glob("plugins/modules/*.py")), REPO / "plugins/doc_fragments/engine.py"]:
        documentation = re.search(r'DOCUMENTATION = r?"""(.*?)"""', path.read_text(), re.S)
        yield path.stem, yaml.safe_load(documentation.group(1))


CHOICES = [
    pytest.param(spec["choices"], OFFERED[kind], id=f"{source}-{name}")
    for source, tree in documents()
    for name, spec in options(tree)
    for kind in OFFERED
    if re.fullmatch(rf"(kup_)?(checkpoint_|kexec_|ready_)?(ppp_)?{kind}", name)
]


@pytest.mark.parametrize(("offered", "known"), CHOICES)
def test_the_choices_are_those_of_the_registry(offered, known):
    assert sorted(offered) == sorted(known)


def test_all_places_are_found():
    # The fragment of the modules and the three roles that choose, with three options each; the plan knows the engines by itself.
    assert len({choice.id for choice in CHOICES}) == 14
