# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""How much memory there is, and room for more: on the node, and in a control group."""

from __future__ import annotations

import os
import re

from .._files import read_text
from .processes import CGROUPS

# Above memory.max the OOM killer comes if nothing can be reclaimed, above memory.high allocations are throttled. Both would hit an
# application that serves while its pages come in, because it is charged for them.
_LIMITS = ("memory.max", "memory.high")


def sizes(text):
    """Sizes of /proc/meminfo or /proc/PID/smaps_rollup: dict field → bytes."""
    return {field: int(kib) << 10 for field, kib in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.M)}


def available():
    """Bytes that this node can allocate without swapping."""
    return sizes(read_text("/proc/meminfo"))["MemAvailable"]


def room(cgroup):
    """(bytes, name of what limits them) that the processes of ``cgroup`` (path below /sys/fs/cgroup) can still have."""
    found = [(available(), "the node's memory")]
    while cgroup.strip("/"):
        found += [(limit - _kept(cgroup), f"{name} of {cgroup}") for name, limit in _limits(cgroup)]
        cgroup = os.path.dirname(cgroup)
    return min(found)


def _limits(cgroup):
    for name in _LIMITS:
        text = read_text(f"{CGROUPS}{cgroup}/{name}", "max")
        if text != "max":
            yield name, int(text)


def _kept(cgroup):
    """Bytes of the group that the kernel cannot reclaim by dropping them: all but the page cache."""
    stat = dict(line.split() for line in read_text(f"{CGROUPS}{cgroup}/memory.stat", "").splitlines())
    cache = sum(int(stat.get(name, 0)) for name in ("active_file", "inactive_file"))
    return int(read_text(f"{CGROUPS}{cgroup}/memory.current", "0")) - cache
