# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Watchdogs of units (``WatchdogSec=``) during a switch or a rehearsal. CRIU holds a unit while it copies; systemd would end one that it holds for longer.

systemd takes a new time from the main process by sd_notify(3), counts anew from then, and keeps it until the unit is started again; root may
send the message in the name of that process. ``WatchdogUSec`` shows the new time, so the time of before is in a file of this boot.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct

from .._errors import KupError
from .._files import make_directory, read_lines, write_file
from .._paths import RUN
from .._system.units import Unit

#: Microseconds of a watchdog that was extended: longer than anything that holds a unit. The last one tells it from other times.
EXTENDED = 3600 * 10**6 + 1

_SYSTEMD = "/run/systemd/notify"
# A line for each unit: name, main process, microseconds. files/node/lib/notify.sh reads it after a program that was killed.
_FILE = f"{RUN}/watchdogs"


def extend(units):
    """Extend the watchdogs of ``units`` that are shorter. Units without one, and those that were extended before, cost nothing.

    :raises KupError: systemd did not take the new time.
    """
    watched = [unit for unit in units if 0 < unit.watchdog < EXTENDED]
    if not watched:
        return
    kept = {**_kept(), **{unit.name: (unit.main_pid, unit.watchdog) for unit in watched}}
    make_directory(RUN)
    write_file(_FILE, "".join(f"{name} {pid} {time}\n" for name, (pid, time) in kept.items()))
    for unit in watched:
        _tell(unit.main_pid, EXTENDED)
    for unit in watched:
        # systemd reads messages before it answers.
        if Unit(unit.name).watchdog != EXTENDED:
            raise KupError(
                f"The watchdog of {unit.name} ({unit.watchdog / 10**6:g} s) could not be extended, expected systemd to take "
                "WATCHDOG_USEC= from the main process; look for NotifyAccess= in the unit."
            )


def own(unit):
    """Microseconds of the unit's own watchdog, also while it is extended; 0: none."""
    pid, time = _kept().get(unit.name, (0, 0))
    return time if unit.watchdog == EXTENDED and pid == unit.main_pid else unit.watchdog


def release():
    """Give all units their own watchdogs back, which count from now. What has been started anew meanwhile, or has set another time, keeps that."""
    for name, (pid, time) in _kept().items():
        with contextlib.suppress(KupError, OSError):  # the others are to get theirs
            unit = Unit(name)
            if unit.main_pid == pid and unit.watchdog == EXTENDED:
                _tell(pid, time)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_FILE)


def _kept():
    """Name → (main process, microseconds)."""
    lines = [line.split() for line in read_lines(_FILE)]
    return {name: (int(pid), int(time)) for name, pid, time in lines}


def _tell(pid, time):
    """Tell systemd the new ``time`` (microseconds) in the name of the process ``pid``, which may have ended."""
    sender = struct.pack("3i", pid, 0, 0)  # struct ucred: process, user, group
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client, contextlib.suppress(ProcessLookupError):
        client.sendmsg(
            [f"WATCHDOG_USEC={time}".encode()], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, sender)], 0, _SYSTEMD
        )
