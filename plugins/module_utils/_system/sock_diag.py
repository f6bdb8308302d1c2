# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Questions about all sockets of this network namespace: sock_diag(7)."""

from __future__ import annotations

import socket
import struct

# include/uapi/linux/netlink.h, sock_diag.h
_NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY = 4, 20
_NLM_F_REQUEST, _NLM_F_DUMP = 0x1, 0x300
_NLMSG_ERROR, _NLMSG_DONE = 2, 3

HEADER = struct.Struct("=IHHII")  # struct nlmsghdr
_CODE = struct.Struct("=i")
_ATTRIBUTE = struct.Struct("=HH")  # struct nlattr

# The kernel fills one page or 32 KiB (net/netlink/af_netlink.c, netlink_dump()).
_BUFFER = 1 << 16
_PATIENCE = 10  # seconds


def ask(request):
    """Yield the body of each message that answers a ``request``, bytes behind the header.

    :raises OSError: the kernel does not tell.
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(_PATIENCE)
        size = HEADER.size + len(request)
        kernel.send(HEADER.pack(size, SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST | _NLM_F_DUMP, 1, 0) + request)
        more = True
        while more:
            bodies, more = parse(kernel.recv(_BUFFER))
            yield from bodies


def parse(answer):
    """One datagram of the kernel's answer: list of bodies, and whether more datagrams follow.

    :raises OSError: the kernel reports an error.
    """
    found = []
    for kind, body in _messages(answer):
        if kind == _NLMSG_DONE:
            return found, False
        if kind == _NLMSG_ERROR:
            code = -_CODE.unpack_from(body)[0] if len(body) >= _CODE.size else 0
            raise OSError(code, f"error {code}")
        if kind == SOCK_DIAG_BY_FAMILY:
            found.append(body)
    return found, True


def attributes(data):
    """Yield (number, value) of each attribute in what follows the fixed part of a body."""
    while len(data) >= _ATTRIBUTE.size:
        size, number = _ATTRIBUTE.unpack_from(data)
        if not _ATTRIBUTE.size <= size <= len(data):
            return
        yield number, data[_ATTRIBUTE.size : size]
        data = data[_aligned(size) :]


def _aligned(size):
    return (size + 3) & ~3


def _messages(data):
    """Yield (type, body) of each netlink message."""
    while len(data) >= HEADER.size:
        size, kind = HEADER.unpack_from(data)[:2]
        if not HEADER.size <= size <= len(data):
            return
        yield kind, data[HEADER.size : size]
        data = data[_aligned(size) :]
