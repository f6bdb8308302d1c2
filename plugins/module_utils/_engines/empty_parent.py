# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The images of an earlier dump that has no pages: with them, CRIU leaves out the content of all pages without a write since then."""

from __future__ import annotations

import struct
import time

from .._files import make_directory

_NAME = "before"
_INVENTORY_MAGIC = 0x58313116  # criu/include/magic.h

#: Words of CRIU's command line that name them.
OPTIONS = ["--prev-images-dir", _NAME]


def make(directory):
    """Make ``directory``, for the images of a dump, and the empty ones in it."""
    parent = f"{directory}/{_NAME}"
    for path in (directory, parent):
        make_directory(path)
    with open(f"{parent}/inventory.img", "wb") as stream:
        stream.write(inventory(int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1e6)))


def inventory(uptime):
    """CRIU's image of a parent without any pages, made ``uptime`` microseconds after the machine's start."""
    message = b"\x08\x02\x10\x01\x20\x01\x40" + _varint(uptime) + b"\x48\x01"
    return struct.pack("<II", _INVENTORY_MAGIC, len(message)) + message


def _varint(number):
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])
