# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Swapped-out pages. An engine that leaves pages in their frames needs them in memory before the freeze."""

from __future__ import annotations

import contextlib
import os

from .._blocker import Blocked, about
from .._errors import KupError
from .._files import each_line, read_text
from .._system import memory as node_memory
from .._system import smaps
from . import checks

_PAGE = 4096
_CHUNK = 1 << 16  # pages
# /proc/PID/pagemap: 8 bytes for each page, bit 62 says that it is swapped out
_SWAPPED = bytes(byte >> 6 & 1 for byte in range(256))
# So much may be out at the freeze: the module brings it in, one page at a time and whatever the limit is. The application waits.
_LATE = 4 << 20


def blockers(unit):
    """Why the swapped-out pages of ``unit`` cannot come in: `Blocker`s."""
    swapped = _bytes(unit)
    room, limit = node_memory.room(unit.cgroup) if swapped > _LATE else (0, "")
    return about(checks.swapped_out(swapped, room, limit, _LATE), unit=unit.name)


def bring_in(unit):
    """Bring in swapped-out pages while the application serves; returns whether there were any.

    :raises KupError: they do not stay in.
    """
    found = blockers(unit)
    if found:
        raise Blocked(found)
    left, before = _bytes(unit), None
    found = left > 0
    # Pages that come in may push other pages out, which come in the next time.
    while left and (before is None or left < before):
        for process in unit.processes:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                _read(process)
        left, before = _bytes(unit), left
    check(unit)
    return found


def check(unit):
    """:raises KupError: too much is swapped out for a freeze."""
    left = _bytes(unit)
    if left > _LATE:
        raise KupError(
            f"{unit.name} has {left >> 20} MiB swapped out, again after they were brought in, expected at most {_LATE >> 20}: "
            f"{node_memory.room(unit.cgroup)[1]} is short; make room, or use the engine foam."
        )


def _bytes(unit):
    """Bytes that are swapped out; what processes share is counted once."""
    # smaps_rollup costs a walk over the page tables of the process.
    some = [process for process in unit.processes if process.size("VmSwap")]
    return sum(node_memory.sizes(read_text(f"{process.path}/smaps_rollup", "")).get("SwapPss", 0) for process in some)


def _read(process):
    """Read each page of a process that is swapped out, as the process itself would."""
    with open(f"{process.path}/mem", "rb", buffering=0) as memory:
        for page in _pages(process):
            with contextlib.suppress(OSError):  # given back meanwhile
                os.pread(memory.fileno(), 1, page * _PAGE)


def _pages(process):
    """Numbers of the virtual pages that are swapped out."""
    with open(f"{process.path}/pagemap", "rb", buffering=0) as pagemap:
        for first, last, _kib in smaps.areas(each_line(f"{process.path}/smaps"), "Swap"):
            end = last // _PAGE
            for start in range(first // _PAGE, end, _CHUNK):
                entries = os.pread(pagemap.fileno(), min(_CHUNK, end - start) * 8, start * 8)
                flags = entries[7::8].translate(_SWAPPED)
                at = flags.find(1)
                while at >= 0:
                    yield start + at
                    at = flags.find(1, at + 1)
