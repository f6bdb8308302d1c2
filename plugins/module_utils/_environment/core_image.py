# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""CRIU's image of a thread (``core-TID.img``), as far as an update has to change it.

pycriu, which reads it as a whole, is not where every node's Python finds it, and takes longer in the freeze.
"""

from __future__ import annotations

import struct

from .._errors import KupError

# criu/include/magic.h: IMG_COMMON_MAGIC and CORE_MAGIC.
_MAGICS = (0x54564319, 0x55053847)
_HEAD = struct.Struct("<III")  # the magics, and the size of the only message
# images/core.proto: core_entry.thread_core, thread_core_entry.pdeath_sig.
_THREAD_CORE, _PDEATH_SIG = 5, 8
# Protobuf's wire types; the values are sizes of what has one.
_VARINT, _BYTES = 0, 2
_FIXED = {1: 8, 5: 4}


class CoreImage:
    """``death_signal``: of the thread, 0 if it has none; ``place``: offset of its byte in ``content``.

    :raises KupError: ``content`` is no such image.
    """

    def __init__(self, content):
        self.death_signal = self.place = 0
        try:
            *magics, size = _HEAD.unpack_from(content)
            if tuple(magics) != _MAGICS or size > len(content) - _HEAD.size:
                raise ValueError
            for number, start, end in fields(content, _HEAD.size, _HEAD.size + size):
                if number == _THREAD_CORE:
                    self._read_thread_core(content, start, end)
        except (ValueError, IndexError, struct.error) as error:
            raise KupError("An image of a thread is not as CRIU writes it.") from error

    def _read_thread_core(self, content, start, end):
        for number, place, after in fields(content, start, end):
            if number == _PDEATH_SIG:
                self.death_signal, self.place = varint(content, place, after)[0], place


def fields(content, at, end):
    """Yield (number, offset of the content, offset behind it) for each field of a message."""
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
    """(value, offset behind it)"""
    value = shift = 0
    while at < end and shift < 64:
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise ValueError
