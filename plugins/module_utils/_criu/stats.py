# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What CRIU measured of a dump: the image ``stats-dump``.

Format: criu/include/magic.h (two magics of 32 bits, a length of 32 bits) and images/stats.proto.
"""

from __future__ import annotations

import struct

from . import protobuf

_MAGIC = (0x55105940, 0x57093306)  # IMG_SERVICE_MAGIC, STATS_MAGIC
_LIMIT = 4096  # bytes; the real one has about a hundred
_DUMP, _FROZEN_US = 1, 2  # stats_entry.dump, dump_stats_entry.frozen_time


def frozen(path):
    """Seconds for which the tree was frozen; None if the file does not tell."""
    try:
        with open(path, "rb") as stream:
            head, body = stream.read(12), stream.read(_LIMIT)
    except OSError:
        return None
    if len(head) < 12 or struct.unpack("<II", head[:8]) != _MAGIC:
        return None
    body = body[: struct.unpack("<I", head[8:])[0]]
    try:
        microseconds = protobuf.number(body, 0, len(body), _DUMP, _FROZEN_US)
    except ValueError:  # it is cut off
        return None
    return None if microseconds is None else microseconds / 1e6
