# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Messages of protobuf, of which CRIU's images are made, as far as they have to be read (in C: files/common/protobuf.h)."""

from __future__ import annotations

# Wire types; the values are sizes of what has one.
_VARINT, _BYTES = 0, 2
_FIXED = {1: 8, 5: 4}


def fields(content, at, end):
    """Yield (number, offset of the value, offset behind it) for each field of the message from ``at`` to ``end``.

    :raises ValueError: it is none.
    """
    while at < end:
        key, at = varint(content, at, end)
        kind = key & 7
        if kind == _VARINT:
            after = varint(content, at, end)[1]
        elif kind == _BYTES:
            size, at = varint(content, at, end)
            after = at + size
        else:
            after = at + _FIXED.get(kind, end + 1)
        if after > end:
            raise ValueError
        yield key >> 3, at, after
        at = after


def varint(content, at, end):
    """(value, offset behind it) of the number at an offset.

    :raises ValueError: it does not end.
    """
    value = shift = 0
    while at < end and shift < 64:
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise ValueError


def number(content, at, end, field, *inside):
    """The first number in this field of the message from ``at`` to ``end``, or in the fields ``inside`` of it; None where there is none.

    :raises ValueError: it is no message up to there.
    """
    for found, start, after in fields(content, at, end):
        if found == field:
            value = number(content, start, after, *inside) if inside else varint(content, start, after)[0]
            if value is not None:
                return value
    return None
