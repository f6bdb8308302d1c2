"""Names that the scripts have for units and control groups are those that the units of a boot plan have."""

import re

import fakeplan
import pytest
from fakenode import SCRIPTS

from ansible_collections.kup.fleet.plugins.module_utils._engines import pending_memory
from ansible_collections.kup.fleet.plugins.module_utils._update import unit_names

UNITS = ("cache.service", "store.service")
SHELL = [
    path for path in SCRIPTS.rglob("*") if path.is_file() and path.parent.name in ("boot", "crash", "lib", "switch")
]


def commands(path):
    """The lines of a script without comments."""
    return [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]


@pytest.fixture
def plan(monkeypatch, tmp_path):
    return fakeplan.write(monkeypatch, tmp_path)


def test_each_unit_of_our_own_that_a_script_names_is_in_a_plan_or_started_by_name(plan):
    there = {path.name for part in ("restore", "pages", "probation") for path in (plan / part).iterdir()}
    there |= set(unit_names.ALL)
    named = {
        name
        for path in SHELL
        for line in commands(path)
        for name in re.findall(r"\bkup-[\w@-]+\.(?:service|timer|socket|target|slice)\b", line)
    }
    assert named
    assert named <= there


@pytest.mark.parametrize("unit", UNITS)
def test_the_page_daemon_of_a_unit_has_the_name_that_the_scripts_have_for_it(plan, unit):
    files = {path.name for path in (plan / "pages").iterdir()}
    found = [
        re.sub(r"\$(?:unit|1)\b", unit, name)
        for path in SHELL
        for line in commands(path)
        for name in re.findall(r'"(kup-paged-[^"]*)"', line)
    ]
    assert len(found) == 3  # both weights, and the end of a daemon that nobody needs
    assert set(found) == {pending_memory.service(unit)} <= files


def test_the_services_that_are_weighed_are_in_the_slice_of_system_services(plan):
    """By default those of instances are not: kup-paged-a@b.service is an instance, too."""
    for unit in UNITS:
        assert "\nSlice=system.slice\n" in (plan / "pages" / pending_memory.service(unit)).read_text()
    # One that is no instance is there by default.
    assert "Slice=" not in (plan / "restore/kup-restore-failed.service").read_text()
