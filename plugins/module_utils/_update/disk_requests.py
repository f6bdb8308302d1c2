# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Requests of libaio that are under way at the freeze, as databases have them.

CRIU carries the ring of events, and waits for none that is still to come (criu/pie/parasite.c, parasite_check_aios()): a request would never
be complete. So a unit that has such a ring is kept from running by its control group first, until the disks have done what they were asked for by
then. The kernel puts the events into the memory of a process whether it runs or not.
"""

from __future__ import annotations

import os
import time

from .._files import read_text
from .._system import smaps

#: Seconds of the outage. A disk that has not answered by then is ill, or throttled; what is under way then is left to luck, as without this.
PATIENCE = 2.0

_PAUSE = 0.002
_RING = rb" /\[aio\]"
_DISKS = "/sys/block"
# Of a disk's `stat` (Documentation/admin-guide/iostats.rst): reads and writes that are done, and requests under way.
_READS, _WRITES, _UNDER_WAY = 0, 4, 8


def has_ring(several):
    """Whether one of these `Process`es may have requests under way."""
    return any(True for process in several for _match in smaps.search(f"{process.path}/maps", _RING))


def wait():
    """Wait until each disk has done as many requests as were under way when this was called.

    :returns: names of the disks that have not, sorted.
    """
    wanted = {name: done + under_way for name, (done, under_way) in _disks().items() if under_way}
    give_up = time.monotonic() + PATIENCE
    while wanted and time.monotonic() < give_up:
        time.sleep(_PAUSE)
        now = _disks()
        # Others ask for more meanwhile.
        wanted = {name: done for name, done in wanted.items() if name in now and now[name][1] and now[name][0] < done}
    return sorted(wanted)


def _disks():
    """Of each disk (requests that are done, requests under way): dict by name."""
    found = {}
    for name in os.listdir(_DISKS):
        fields = read_text(f"{_DISKS}/{name}/stat", "").split()
        if len(fields) > _UNDER_WAY:
            found[name] = int(fields[_READS]) + int(fields[_WRITES]), int(fields[_UNDER_WAY])
    return found
