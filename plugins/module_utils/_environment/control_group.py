# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Attributes of a unit's control group that a restore must not run under, or that somebody has set beside systemd.

The restored unit is without its limits of tasks, processor and disks, because CRIU works in the same control group
(files/node/units/restored.conf.in). Afterwards files/node/lib/cgroup.sh writes the attributes themselves. What is no plain attribute,
systemd applies again: it has loaded programs for device policies and for bind(2), and numbers of disks differ between kernels.
"""

from __future__ import annotations

import re

from .._files import read_text
from .._system.processes import CGROUPS

# Weights and memory.max and .high are in the boot plan's file `resources`: they come back at times of their own.
_ATTRIBUTES = (
    *("pids.max", "cpu.max", "cpu.max.burst", "cpu.uclamp.min", "cpu.uclamp.max", "cpuset.cpus", "cpuset.mems"),
    *("memory.min", "memory.low", "memory.swap.high", "memory.swap.max", "memory.zswap.max", "memory.oom.group"),
)
# Settings that restored.conf.in and restored-frames.conf.in replace.
_APPLIED_BY_SYSTEMD = re.compile(
    r"^\s*(DevicePolicy|DeviceAllow|PrivateDevices|IO(Read|Write)(Bandwidth|IOPS)Max|SocketBind(Allow|Deny))\s*=\s*\S",
    re.MULTILINE,
)


def attributes(unit):
    """Attributes of a unit's control group: dict path → value, without those that have none."""
    paths = (f"{CGROUPS}{unit.cgroup}/{name}" for name in _ATTRIBUTES)
    return {path: value for path in paths if (value := read_text(path, ""))}


def is_applied_by_systemd(definition):
    """Whether a unit's ``definition`` has settings that only systemd can put in force again."""
    return bool(_APPLIED_BY_SYSTEMD.search(definition))
