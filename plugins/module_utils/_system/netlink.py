# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Messages of netlink(7), and what they are made of."""

from __future__ import annotations

import struct

# include/uapi/linux/netlink.h
REQUEST, ACK, DUMP, EXCLUSIVE, CREATE = 0x1, 0x4, 0x300, 0x200, 0x400
ERROR, DONE = 2, 3
NESTED = 0x8000
_TYPE = 0x3FFF

# The kernel fills one page or 32 KiB (net/netlink/af_netlink.c, netlink_dump()).
BUFFER = 1 << 16
PATIENCE = 10  #: seconds

_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr
_ATTRIBUTE = struct.Struct("=HH")  # struct nlattr
_CODE = struct.Struct("=i")


def message(kind, flags, body):
    """A whole message, bytes."""
    size = _HEADER.size + len(body)
    return _padded(_HEADER.pack(size, kind, flags, 1, 0) + body)


def messages(data):
    """Yield (type, body) of each whole message in ``data``."""
    while len(data) >= _HEADER.size:
        size, kind = _HEADER.unpack_from(data)[:2]
        if not _HEADER.size <= size <= len(data):
            return
        yield kind, data[_HEADER.size : size]
        data = data[_aligned(size) :]


def code(body):
    """The number of the error that the body of a message of type `ERROR` tells; 0: none."""
    return -_CODE.unpack_from(body)[0] if len(body) >= _CODE.size else 0


def attribute(number, value):
    """An attribute, bytes."""
    return _padded(_ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), number) + value)


def attributes(data):
    """Yield (number, value) of each whole attribute in ``data``."""
    while len(data) >= _ATTRIBUTE.size:
        size, number = _ATTRIBUTE.unpack_from(data)
        if not _ATTRIBUTE.size <= size <= len(data):
            return
        yield number & _TYPE, data[_ATTRIBUTE.size : size]
        data = data[_aligned(size) :]


def _aligned(size):
    return (size + 3) & ~3


def _padded(data):
    return data.ljust(_aligned(len(data)), b"\0")
