# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""/proc/PID/smaps: what the kernel says of each area of a process's memory."""

from __future__ import annotations

import re

_AREA = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) ")


def areas(text, field):
    """(start, end, KiB) of each area of which ``field`` is more than none, such as ``Swap`` or ``AnonHugePages``."""
    area = None
    for line in text.split("\n"):
        head = _AREA.match(line)
        if head:
            area = int(head.group(1), 16), int(head.group(2), 16)
        elif line.startswith(f"{field}:") and area and int(line.split()[1]):
            yield (*area, int(line.split()[1]))
