# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Units that travel together, and what they hold."""

import os
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._criu import carried
from ansible_collections.kup.fleet.plugins.module_utils._system import processes


def unit(cgroup, *targets):
    process = types.SimpleNamespace(descriptors=lambda: enumerate(targets))
    return types.SimpleNamespace(cgroup=cgroup, processes=[process])


def test_sockets_and_pipes_of_all_units():
    found = carried.of([unit("/a.service", "socket:[7]", "/dev/null"), unit("/b.service", "pipe:[8]"), unit("")])
    assert found == carried.Carried(frozenset({"socket:[7]", "pipe:[8]"}), frozenset({"/a.service", "/b.service"}))


@pytest.mark.parametrize(("cgroups", "several"), [([], False), (["/a"], False), (["/a", "/b"], True)])
def test_one_unit_alone_leads_to_no_other(cgroups, several):
    assert carried.of([unit(cgroup) for cgroup in cgroups]).several is several


@pytest.mark.parametrize(
    ("cgroup", "held"), [("/s/a.service", True), ("/s/a.service/part", True), ("/s/a.service-x", False), ("", False)]
)
def test_a_process_belongs_to_one_of_them(monkeypatch, cgroup, held):
    monkeypatch.setattr(processes.Process, "cgroup", property(lambda self: cgroup))
    assert carried.Carried(cgroups=frozenset({"/s/a.service", "/b"})).holds(os.getpid()) is held
