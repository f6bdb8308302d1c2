# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""TCP sockets as sock_diag(7) tells them: connections that only the kernel has, because their handshake is not over, or they are closed and
have something to send; and sockets whose segments are signed.

The kernel walks through all connections for that (net/ipv4/inet_diag.c), and tells those in these states alone.
"""

from __future__ import annotations

import errno
import socket
import struct
from typing import NamedTuple

from . import netlink, sock_diag

# include/net/tcp_states.h
_SYN_RECV, _FIN_WAIT1, _TIME_WAIT, _LAST_ACK, _CLOSING = 3, 4, 6, 9, 11
_OPENING = 1 << _SYN_RECV
_CLOSED = 1 << _FIN_WAIT1 | 1 << _LAST_ACK | 1 << _CLOSING
# All but those that no socket is in any more.
_LASTING = (1 << _CLOSING + 1) - 1 & ~(1 << _TIME_WAIT)

# An attribute, which root is told with what it asks for by this extension (include/uapi/linux/inet_diag.h; net/ipv4/tcp_diag.c,
# tcp_diag_get_aux()).
_MD5SIG, _WITH_INFO = 18, 1 << 1

# include/uapi/linux/inet_diag.h: family, protocol, extensions, states, and which socket (any).
_REQUEST = struct.Struct("=BBBxI48x")
# struct inet_diag_msg: timer, how often it has run out; port of this end (network byte order); bytes to be sent, and inode.
_MESSAGE = struct.Struct("=2xBB2s46x8xI4xI")
_PROBING = 4  # the timer of a client that takes nothing
# A kernel without IPv6, or without the module that tells.
_ABSENT = (errno.ENOENT, errno.EINVAL, errno.EAFNOSUPPORT, errno.EOPNOTSUPP, errno.EPROTONOSUPPORT)


def opening(ports):
    """Whether a client of one of these local TCP ports has begun a handshake that is not over."""
    return any(row.port in ports for row in _told(_OPENING))


def closing(ports):
    """Whether something that was sent from one of these local TCP ports, by a connection that no process has any more, is on its way.

    Not to a client that does not answer, or takes nothing: it may do so for minutes.
    """
    return any(
        row.port in ports and row.unsent and not row.inode and not row.tries and row.timer != _PROBING
        for row in _told(_CLOSED)
    )


def signed():
    """Inodes of the sockets, listeners and connections, that have keys of TCP-MD5 (RFC 2385).

    :raises OSError: the kernel does not tell.
    """
    return {
        row.inode
        for row in _rows(_LASTING, _WITH_INFO)
        if any(number == _MD5SIG for number, _value in netlink.attributes(row.more))
    }


class _Row(NamedTuple):
    """A socket; ``more``: attributes as they are."""

    timer: int
    tries: int
    port: int
    unsent: int
    inode: int
    more: bytes


def _told(states):
    """What the kernel tells; on a kernel that does not, as before there was such a question."""
    try:
        return list(_rows(states))
    except OSError:
        return []


def _rows(states, extensions=0):
    """Yield the `_Row` of each socket in these states.

    :raises OSError: the kernel does not tell.
    """
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            for body in sock_diag.ask(_REQUEST.pack(family, socket.IPPROTO_TCP, extensions, states)):
                if len(body) >= _MESSAGE.size:
                    timer, tries, port, unsent, inode = _MESSAGE.unpack_from(body)
                    yield _Row(timer, tries, int.from_bytes(port, "big"), unsent, inode, body[_MESSAGE.size :])
        except OSError as error:
            if error.errno not in _ABSENT:
                raise
