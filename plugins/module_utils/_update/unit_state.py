# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What restored units have otherwise until the restore is done, and what systemd cannot know of them: files of a boot plan."""

from __future__ import annotations

from .._environment import control_group
from .._files import read_text
from .._system.processes import CGROUPS
from .._system.units import HEAVIEST
from . import watchdogs


def files(units):
    """Texts of the boot plan's files for ``units``: dict name → text (`boot_plan` describes them)."""
    values = [item for unit in units for item in control_group.attributes(unit).items()]
    again = [unit.name for unit in units if control_group.is_applied_by_systemd(unit.definition())]
    return {
        "resources": "".join(f"{unit.name} {_resources(unit)}\n" for unit in units),
        "control-groups": "".join(f"{path} {value}\n" for path, value in values),
        "apply-again": "".join(f"{name}\n" for name in again),
        "notifications": "".join(_notification(unit) for unit in units),
    }


def _resources(unit):
    """A unit's control group, its weights (the kernel's default where it has none of its own), and its limits as the kernel takes them."""
    group = f"{CGROUPS}{unit.cgroup}"
    values = (unit.properties[name] for name in ("CPUWeight", "IOWeight"))
    weights = [value if value.isdigit() and int(value) <= HEAVIEST else "100" for value in values]
    limits = [read_text(f"{group}/memory.{name}", "max") for name in ("max", "high")]
    return " ".join([group, *weights, *limits])


def _notification(unit):
    """What systemd knows of a unit by sd_notify(3), as a line."""
    status = "".join(each if each.isprintable() else " " for each in unit.properties["StatusText"])
    return f"{unit.name} {watchdogs.own(unit)} {status}".rstrip() + "\n"
