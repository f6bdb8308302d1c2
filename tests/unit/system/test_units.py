"""The cgroup freezer of a unit, where there is one."""

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


def test_processes_are_frozen_and_thawed(unit):
    found, switch = unit
    switch.write_text("")
    found.freeze()
    assert switch.read_text() == "1"
    found.thaw()
    assert switch.read_text() == "0"


def test_without_such_a_file_nothing_is_done(tmp_path, unit):
    found, switch = unit
    switch.parent.rmdir()
    found.freeze()
    assert not list(tmp_path.rglob("cgroup.freeze"))
