# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Attributes of a control group: what is recorded, and what only systemd can put in force again."""

import pathlib
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._environment import control_group

TEMPLATES = pathlib.Path(__file__).parents[3] / "files/node/units"


def test_attributes_that_have_a_value(tmp_path, monkeypatch):
    monkeypatch.setattr(control_group, "CGROUPS", str(tmp_path))
    group = tmp_path / "system.slice/a.service"
    group.mkdir(parents=True)
    for name, text in {
        "pids.max": "77\n",
        "cpu.max": "5000 100000\n",
        "cpuset.cpus": "\n",
        "pids.current": "3\n",
    }.items():
        (group / name).write_text(text)
    unit = types.SimpleNamespace(cgroup="/system.slice/a.service")
    assert control_group.attributes(unit) == {f"{group}/pids.max": "77", f"{group}/cpu.max": "5000 100000"}


@pytest.mark.parametrize(
    "setting",
    [
        *("DevicePolicy=closed", "  DeviceAllow = /dev/null rw", "PrivateDevices=yes", "SocketBindDeny=any"),
        *("IOReadBandwidthMax=/ 1M", "IOWriteIOPSMax=/ 100", "SocketBindAllow=tcp:80"),
    ],
)
def test_settings_that_systemd_applies_again(setting):
    assert control_group.is_applied_by_systemd(f"[Service]\n{setting}\nNice=1\n")


@pytest.mark.parametrize("setting", ["DeviceAllow=", "#PrivateDevices=yes", "TasksMax=7", "CPUQuota=50%"])
def test_settings_that_are_none_or_plain_attributes(setting):
    assert not control_group.is_applied_by_systemd(f"[Service]\n{setting}\n")


def test_every_limit_that_a_restore_replaces_comes_back():
    """Each resource setting of the restore's drop-in is an attribute that is written again, or one that systemd applies again."""
    written = {"TasksMax": "pids.max", "CPUQuota": "cpu.max"}
    elsewhere = {"CPUWeight", "IOWeight", "MemoryMax", "MemoryHigh"}  # the boot plan's file `resources`
    of_processes = ("CPUScheduling", "CPUAffinity", "IOScheduling")  # CRIU gives each thread its own back
    replaced = {
        line.partition("=")[0]
        for line in (TEMPLATES / "restored.conf.in").read_text().splitlines()
        if line.startswith(("TasksMax", "CPU", "IO", "Memory", "Device", "SocketBind"))
        and not line.startswith(of_processes)
    }
    assert {"TasksMax", "CPUQuota", "DevicePolicy", "IOReadBandwidthMax"} <= replaced
    for setting in replaced - elsewhere:
        assert written.get(setting) in control_group._ATTRIBUTES or control_group.is_applied_by_systemd(f"{setting}=1")
