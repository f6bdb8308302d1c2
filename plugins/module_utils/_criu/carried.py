# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The units that travel together: what leads from one of them to another lives on."""

from __future__ import annotations

from dataclasses import dataclass

from .._system import processes


@dataclass(frozen=True)
class Carried:
    """``links``: link texts (``socket:[7]``) of what their processes held a moment ago; ``cgroups``: their control groups."""

    links: frozenset = frozenset()
    cgroups: frozenset = frozenset()

    @property
    def several(self):
        """Whether there is another unit that something can lead to."""
        return len(self.cgroups) > 1

    def holds(self, pid):
        """Whether this process belongs to one of the units: what it has opened since ``links`` were looked at travels as well."""
        group = processes.Process(pid).cgroup
        return any(group == each or group.startswith(f"{each}/") for each in self.cgroups)


def of(units):
    """`Carried` of these `Unit`s."""
    return Carried(links(units), frozenset(unit.cgroup for unit in units if unit.cgroup))


def links(units):
    """Link texts of all sockets and pipes that processes of these `Unit`s hold: ``socket:[7]`` and so on."""
    held = (target for unit in units for each in unit.processes for _number, target in each.descriptors())
    return frozenset(target for target in held if target.endswith("]"))
