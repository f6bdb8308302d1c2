# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Requests of libaio that are under way at the freeze, as databases have them.

CRIU carries the ring of events, and waits for none that is still to come (criu/pie/parasite.c, parasite_check_aios()): a request would never
be complete. So a unit that has such a ring is kept from running by its control group first, until the disks have done what they were asked for by
then. The kernel puts the events into the memory of a process whether it runs or not.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time

from .._files import read_text
from .._system import smaps

#: Seconds of the outage. A disk that has not answered by then is ill. What a limit of the unit (IOWriteBandwidthMax= and the like) holds back is no
#: request of a disk yet, and is not seen.
PATIENCE = 2.0

_PAUSE = 0.002
_RING = rb" /\[aio\]"
_DISKS, _DEVICES = "/sys/block", "/sys/dev/block"
# Of a disk's `stat` (Documentation/admin-guide/iostats.rst): reads and writes that are done, and requests under way.
_READS, _WRITES, _UNDER_WAY = 0, 4, 8


def has_ring(several):
    """Whether one of these `Process`es may have requests under way."""
    return any(True for process in several for _match in smaps.search(f"{process.path}/maps", _RING))


def wait(several):
    """Wait until the disks of the open files of these `Process`es have done what was under way when this was called.

    That is so when a disk is idle, twice in a row: a request on its way from the queue to the disk is not counted. A disk that others keep busy
    has done it at the latest when it has done as many as there were, and as many again as may wait before them.

    :returns: names of the disks that have not, sorted.
    """
    names = _names(several)
    wanted = {name: sum(found) + _queued(name) for name in names if (found := _state(name))}
    idle = {name for name in wanted if not _state(name)[1]}
    give_up = time.monotonic() + PATIENCE
    while wanted and time.monotonic() < give_up:
        time.sleep(_PAUSE)
        now = {name: _state(name) for name in wanted}
        was, idle = idle, {name for name, found in now.items() if found and not found[1]}
        # A disk that is gone answers nothing any more.
        wanted = {
            name: done for name, done in wanted.items() if now[name] and name not in was & idle and now[name][0] < done
        }
    return sorted(wanted)


def _names(several):
    """Names of the disks below the processes' open files."""
    numbers = set()
    for process in several:
        for number, _target in process.descriptors():
            with contextlib.suppress(OSError):
                status = os.stat(f"{process.path}/fd/{number}")
                numbers.add(status.st_rdev if stat.S_ISBLK(status.st_mode) else status.st_dev)
    found = [_below(os.path.realpath(f"{_DEVICES}/{os.major(one)}:{os.minor(one)}")) for one in numbers]
    # A file system of several devices, as btrfs, has a number of its own: any disk may be below it.
    return set().union(*found) or set(os.listdir(_DISKS))


def _below(path):
    """Names of the disks below a block device, by its path in sysfs; none where it is no block device."""
    if os.path.exists(f"{path}/partition"):
        path = os.path.dirname(path)
    slaves = os.listdir(f"{path}/slaves") if os.path.isdir(f"{path}/slaves") else []
    if slaves:
        return set().union(*(_below(os.path.realpath(f"{path}/slaves/{name}")) for name in slaves))
    return {os.path.basename(path)} if os.path.exists(f"{path}/stat") else set()


def _queued(name):
    """How many requests may wait for a disk."""
    queues = len(os.listdir(f"{_DISKS}/{name}/mq")) if os.path.isdir(f"{_DISKS}/{name}/mq") else 1
    return int(read_text(f"{_DISKS}/{name}/queue/nr_requests", "0") or 0) * queues


def _state(name):
    """(requests that are done, requests under way) of a disk; None if it is gone."""
    fields = read_text(f"{_DISKS}/{name}/stat", "").split()
    if len(fields) <= _UNDER_WAY:
        return None
    return int(fields[_READS]) + int(fields[_WRITES]), int(fields[_UNDER_WAY])
