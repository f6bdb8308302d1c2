# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What CRIU measured of a dump: the image ``stats-dump``.

Format: criu/include/magic.h (two magics of 32 bits, a length of 32 bits) and images/stats.proto, of which only varint
fields are read.
"""

from __future__ import annotations

import struct

_MAGIC = (0x55105940, 0x57093306)  # IMG_SERVICE_MAGIC, STATS_MAGIC
_LIMIT = 4096  # bytes; the real one has about a hundred
_FROZEN_US = 2  # dump_stats_entry.frozen_time


def frozen(path):
    """Seconds for which the tree was frozen; None if the file does not tell."""
    try:
        with open(path, "rb") as stream:
            head, body = stream.read(12), stream.read(_LIMIT)
    except OSError:
        return None
    if len(head) < 12 or struct.unpack("<II", head[:8]) != _MAGIC:
        return None
    outer = _fields(body[: struct.unpack("<I", head[8:])[0]])
    microseconds = _fields(outer.get(1, b"")).get(_FROZEN_US)
    return None if microseconds is None else microseconds / 1e6


def _fields(message):
    """Fields of a protobuf message: dict number → int (varint) or bytes; empty for what is none."""
    found, at = {}, 0
    while isinstance(message, bytes) and at < len(message):
        key, at = _varint(message, at)
        value, at = _varint(message, at)
        if at is None or key & 7 not in (0, 2):
            return {}
        if key & 7 == 2:
            value, at = message[at : at + value], at + value
        found[key >> 3] = value
    return found


def _varint(message, at):
    """(value, position after it); the position is None where it does not end."""
    value = shift = 0
    while at is not None and at < len(message) and shift < 64:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    return 0, None
