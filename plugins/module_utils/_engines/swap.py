# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Pages that are swapped out, for an engine that keeps pages where they are: they have to come in before the freeze."""

from __future__ import annotations

import contextlib
import os

from .._errors import KupError
from .._files import read_text
from .._system import memory as node_memory
from .._system import smaps

_PAGE = 4096
_CHUNK = 1 << 16  # pages
# /proc/PID/pagemap: 8 bytes for each page, bit 62 says that it is swapped out
_SWAPPED = bytes(byte >> 6 & 1 for byte in range(256))
# So much may be out at the freeze: the module brings it in, one page at a time and whatever the limit is. The application waits.
_LATE = 4 << 20


def obstacle(unit):
    """Why what ``unit`` has swapped out cannot come in: a sentence, or None."""
    swapped = _bytes(unit)
    room, limit = node_memory.room(unit.cgroup) if swapped > _LATE else (0, "")
    if swapped <= max(room, 0) + _LATE:
        return None
    return (
        f"{unit.name} has {swapped >> 20} MiB swapped out, which have to come in, but {limit} has room for "
        f"{max(room, 0) >> 20} MiB; make room there, or use the engine foam."
    )


def bring_in(unit):
    """Bring it in while the application serves; returns whether there was anything.

    :raises KupError: it does not stay in.
    """
    sentence = obstacle(unit)
    if sentence:
        raise KupError(sentence)
    left, before = _bytes(unit), None
    found = left > 0
    # What comes in may take the place of something else, once.
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
    """What is swapped out, counted once where processes share it."""
    # To look at a process costs a walk over its page tables.
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
        for first, last, _kib in smaps.areas(read_text(f"{process.path}/smaps", ""), "Swap"):
            end = last // _PAGE
            for start in range(first // _PAGE, end, _CHUNK):
                entries = os.pread(pagemap.fileno(), min(_CHUNK, end - start) * 8, start * 8)
                flags = entries[7::8].translate(_SWAPPED)
                at = flags.find(1)
                while at >= 0:
                    yield start + at
                    at = flags.find(1, at + 1)
