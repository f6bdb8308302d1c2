# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Where in physical memory the next kernel is loaded.

A decompressor puts the kernel at a random physical address. An unpacked image stays where kexec(8) puts it, which is always
the same place: so a window is drawn by lot, and kexec(8) is held to it (``--mem-min``, ``--mem-max``, with kexec_load).
Recorded frames must not lie in the window: kexec does not ask whether it overwrites them. Pages in it are copied elsewhere while
the application is frozen, so the emptiest of several windows is taken.
"""

from __future__ import annotations

import os
import re
import secrets

from .._errors import KupError

_LARGE_PAGE = 2 << 20
# As the decompressor's lowest address: below are the areas for devices and for starting other processors.
_LOWEST = 16 << 20
# The loader's own segments (purgatory, boot parameters, command line) and alignment of the kernel among them.
_BESIDE = 4 << 20
# struct memblock_region
_REGION = 24
_PAGE = 4096
_LOTS = 16
# /proc/kpageflags (Documentation/admin-guide/mm/pagemap.rst): 8 bytes for each page, bit 12 says that it is a process's own
_ANONYMOUS = bytes(byte >> 4 & 1 for byte in range(256))


def ram(iomem="/proc/iomem"):
    """Ranges [start, end) of ordinary memory.

    :raises KupError: the addresses are hidden; only root sees them.
    """
    with open(iomem, encoding="ascii") as stream:
        found = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) : System RAM$", stream.read(), re.M)
    ranges = [(int(start, 16), int(end, 16) + 1) for start, end in found]
    if not any(end > 1 for _start, end in ranges):
        raise KupError(f"{iomem} shows no addresses of System RAM, expected some; run this as root.")
    return ranges


def transient(iomem="/proc/iomem"):
    """Ranges [start, end) of memory that a driver has added (virtio-mem, dax): no next kernel has it when it starts."""
    with open(iomem, encoding="ascii") as stream:
        found = re.findall(r"^\s*([0-9a-f]+)-([0-9a-f]+) : System RAM \(", stream.read(), re.M)
    return [(int(start, 16), int(end, 16) + 1) for start, end in found]


def size(image, initrd=None, runs=0):
    """Bytes that a window needs for the unpacked ``image`` and the ``initrd`` (paths).

    :param runs: the largest number of runs of recorded frames. What the segments leave free in the window is one piece, however
        the rest of the memory is scattered: there the new kernel's list of reserved memory finds room.
    """
    with open(image, "rb") as stream:
        stream.seek(0x260)  # init_size: what the kernel takes while it starts
        kernel = int.from_bytes(stream.read(4), "little")
    return kernel + (os.path.getsize(initrd) if initrd else 0) + runs * _REGION + _BESIDE


def options(window):
    """Words that make kexec(8) load into ``window`` (first byte, last byte)."""
    return ["--kexec-syscall", f"--mem-min={window[0]:#x}", f"--mem-max={window[1]:#x}"]


def occupied(window, flags="/proc/kpageflags"):
    """Number of pages in ``window`` (first byte, last byte) that hold processes' own memory."""
    first, last = (address // _PAGE for address in window)
    with open(flags, "rb", buffering=0) as stream:
        stream.seek(first * 8)
        read = stream.read((last - first + 1) * 8)
    return read[1::8].translate(_ANONYMOUS).count(1)


def emptiest(ranges, needed):
    """The one of several windows (see `choose`) that the fewest pages of processes lie in."""
    return min((choose(ranges, needed) for _lot in range(_LOTS)), key=occupied)


def without(ranges, window):
    """``ranges`` of memory without ``window`` (first byte, last byte)."""
    first, last = window
    parts = [part for start, end in ranges for part in ((start, min(end, first)), (max(start, last + 1), end))]
    return [(start, end) for start, end in parts if start < end]


def choose(ranges, needed, draw=secrets.randbelow):
    """Draw a window.

    :param ranges: of memory, [start, end).
    :param needed: its bytes.
    :param draw: function that returns a number below its argument.
    :returns: (first byte, last byte), as kexec(8) wants them.
    :raises KupError: no range is large enough.
    """
    needed = -(-needed // _LARGE_PAGE) * _LARGE_PAGE
    slots = []
    for start, end in ranges:
        first = max(-(-start // _LARGE_PAGE) * _LARGE_PAGE, _LOWEST)
        slots.append((first, max(0, (end - needed - first) // _LARGE_PAGE + 1)))
    number = sum(count for _first, count in slots)
    if not number:
        raise KupError(f"No range of memory has {needed >> 20} MiB for the next kernel, expected one above 16 MiB.")
    lot = draw(number)
    for first, count in slots:
        if lot < count:
            return first + lot * _LARGE_PAGE, first + lot * _LARGE_PAGE + needed - 1
        lot -= count
    raise AssertionError("unreachable: the lot is below the number of slots")
