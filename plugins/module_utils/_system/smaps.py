# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""/proc/PID/smaps: what the kernel says of each area of a process's memory."""

from __future__ import annotations

import re

_BLOCK = 1 << 20  # bytes
_AREA = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) ")


def search(path, pattern):
    """Yield each match of a ``pattern`` (bytes, within a line) in the file of a process, which is not held in memory as a whole.

    Of a million areas it has 700 MB.
    """
    compiled, rest = re.compile(pattern, re.MULTILINE), b""
    try:
        with open(path, "rb") as stream:
            while block := stream.read(_BLOCK):
                whole, newline, rest = (rest + block).rpartition(b"\n")
                yield from compiled.finditer(whole + newline)
    except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
        return
    yield from compiled.finditer(rest)


def flagged(path, flag):
    """Yield ``START-END``, as the file has it, of each area that has this ``flag`` (two letters, as bytes)."""
    area = b""
    for match in search(path, rb"^(?:([0-9a-f]+-[0-9a-f]+) |VmFlags:.* %b\b)" % flag):
        if match[1]:
            area = match[1]
        else:
            yield area.decode("ascii")


def areas(lines, field):
    """(start, end, KiB) of each area of which ``field`` is more than none, such as ``Swap`` or ``AnonHugePages``."""
    area = None
    for line in lines:
        head = _AREA.match(line)
        if head:
            area = int(head.group(1), 16), int(head.group(2), 16)
        elif line.startswith(f"{field}:") and area and int(line.split()[1]):
            yield (*area, int(line.split()[1]))
