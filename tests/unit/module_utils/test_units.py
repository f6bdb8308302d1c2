"""The kernel is told to hold a unit's processes, where it can be told."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system import processes
from ansible_collections.kup.fleet.plugins.module_utils._system.units import Unit


@pytest.fixture
def unit(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "CGROUPS", str(tmp_path))
    found = Unit.__new__(Unit)  # without asking systemd
    found.cgroup = "/system.slice/cache.service"
    (tmp_path / found.cgroup[1:]).mkdir(parents=True)
    return found, tmp_path / found.cgroup[1:] / "cgroup.freeze"


@pytest.mark.parametrize("held", [True, False])
def test_processes_are_held_and_let_go(unit, held):
    found, switch = unit
    switch.write_text("")
    found.hold(held)
    assert switch.read_text() == str(int(held))


def test_without_such_a_file_nothing_is_done(tmp_path, unit):
    found, switch = unit
    switch.parent.rmdir()
    found.hold(True)
    assert not list(tmp_path.rglob("cgroup.freeze"))
