# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A setting stands in several places on its way from the user to the record: all of them say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from ansible_collections.kup.fleet.plugins.doc_fragments import engine
from ansible_collections.kup.fleet.plugins.module_utils._update import record
from ansible_collections.kup.fleet.plugins.modules import (
    kup_drain,
    kup_gate,
    kup_preflight,
    kup_rehearse,
    kup_stage,
)
from ansible_collections.kup.fleet.plugins.plugin_utils import _budget, _controller, _plan, _values

COLLECTION = Path(__file__).parents[3]
ROLES = ("kup", "kup_checkpoint", "kup_drain", "kup_kexec", "kup_ready", "kup_restore")


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
    public, sources = load("roles/kup/defaults/main.yml"), mapping()
    for role in ROLES[1:]:
        for name, value in load(f"roles/{role}/defaults/main.yml").items():
            source = sources.get(name)
            if source in public and value and public[source]:
                assert value in (public[source], "newest"), name


def test_every_variable_of_a_role_has_a_source():
    known = {name for role in ROLES[1:] for name in load(f"roles/{role}/defaults/main.yml")}
    # Those of each balancer are public themselves.
    known -= set(load("roles/kup_drain/defaults/main.yml")) - {"kup_drain_balancers"}
    # Given where the entry point is called.
    assert known - set(load("roles/kup/vars/main/roles.yml")) == {
        "kup_ready_state",
        "kup_ready_window",
        "kup_restore_committed",
        "kup_restore_gone",
        "kup_restore_reason",
        "kup_restore_remote_timeout",
    }


def options(role):
    return specs(role)["main"]["options"]


def specification(module):
    """The options of a module, with those of the fragment about engines."""
    found = _controller.specification(module.DOCUMENTATION)
    if "kup.fleet.engine" in module.DOCUMENTATION:
        found |= _controller.specification(engine.ModuleDocFragment.DOCUMENTATION)
    return found


def mapping():
    """Dict variable of a role → public variable that it takes its value from; expressions are left out."""
    # A value that the plan has made of a text, or else what was given.
    expressions = {
        name: re.fullmatch(r"{{ __kup_values\.(\w+) \| default\((\w+)\) }}", expression)
        for name, expression in load("roles/kup/vars/main/roles.yml").items()
    }
    assert all(found[1] == found[2] for found in expressions.values() if found)
    return {name: found[1] for name, found in expressions.items() if found}


def test_a_roles_variable_has_the_type_of_its_source():
    roles = {name: option for role in ROLES[1:] for name, option in options(role).items()}
    for name, source in mapping().items():
        public = options("kup")[source]
        assert (roles[name]["type"], roles[name].get("elements")) == (public["type"], public.get("elements")), name
        # The plan checks the names of engines and balancers before.
        assert roles[name].get("choices") == public.get("choices") or source in ("kup_engine", "kup_drain"), name


@pytest.mark.parametrize(
    ("role", "tasks", "module"),
    [
        ("kup_checkpoint", "look", kup_preflight),
        ("kup_checkpoint", "rehearse", kup_rehearse),
        ("kup_kexec", "stage", kup_stage),
        ("kup_kexec", "remember", kup_gate),
        ("kup_restore", "judge", kup_gate),
    ],
)
def test_a_role_gives_its_module_every_option(role, tasks, module):
    called = f"kup.fleet.{module.__name__.rpartition('.')[2]}"
    given = next(task[called] for task in load(f"roles/{role}/tasks/{tasks}.yml") if called in task)
    expected = specification(module)
    # The boot is asked for after the commit only.
    assert set(given) - {"state", "run_id"} == set(expected) - {"state", "boot_id"}
    for name in set(expected) - {"state", "boot_id"}:
        assert given[name] == f"{{{{ {role}_{name} }}}}"
        described = options(role)[f"{role}_{name}"]
        for key in ("type", "elements", "choices"):
            assert described.get(key) == expected[name].get(key), (name, key)


def test_the_soak_judges_by_all_that_the_gate_judges_by():
    judged = load("roles/kup/tasks/soaked.yml")[0]["block"][0]["kup.fleet.kup_gate"]
    kept = load("roles/kup/tasks/soak_checks.yml")[0]["ansible.builtin.set_fact"]["__kup_soak_checks"]
    assert set(judged) - {"state"} == set(kept) == set(_controller.specification(kup_gate.DOCUMENTATION)) - {"state"}


def test_each_balancer_has_the_options_of_the_module():
    module, role = _controller.specification(kup_drain.DOCUMENTATION), options("kup_drain")
    for name in kup_drain.BALANCERS:
        assert set(module[name]["options"]) == set(kup_drain.BALANCERS[name][0])
        for option, about in module[name]["options"].items():
            described = role[f"kup_drain_{name}_{option}"]
            assert (described["type"], described.get("elements")) == (about["type"], about.get("elements")), option
            assert about.get("default") == kup_drain.BALANCERS[name][0][option].get("default")
            if about.get("default"):
                assert described["default"] == about["default"], option


def test_the_record_keeps_every_setting_of_the_switch():
    unrecorded = {
        "kernel",
        "units",
        "on_unit_failure",
        "unit_policies",
        "engine",
        "images_dir",
        "initramfs",
        "ppp_disk_checkpoint",
        "survive",
    }
    assert set(specification(kup_stage)) - unrecorded == set(kup_stage.RECORDED)
    assert {name.upper() for name in kup_stage.RECORDED} <= set(record._KEYS)


def test_the_plan_checks_every_number():
    numbers = {name for name, option in options("kup").items() if option["type"] == "int"}
    assert set(_plan._NUMBERS) == numbers


def test_the_budget_knows_the_phases_of_the_playbook():
    assert load("roles/kup/vars/main/kup.yml")["__kup_phases_under_way"] == list(_budget.UNDER_WAY)


def test_the_budget_has_the_defaults_of_the_role():
    limits, defaults = _budget.Limits(), load("roles/kup/defaults/main.yml")
    for name in ("max_failed", "max_unreachable", "batch_success"):
        assert getattr(limits, name) == defaults[f"kup_{name}"]


def test_the_plan_knows_every_type():
    for name, value in load("roles/kup/defaults/main.yml").items():
        assert _values.coerce(name, value, options("kup")[name]) is not None
