# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""TCP sockets as sock_diag(7) tells them: connections that only the kernel has, because their handshake is not over, or they are closed and
have something to send; and sockets whose segments are signed.

The kernel looks for those in these states alone (net/ipv4/inet_diag.c), however many others there are.
"""

from __future__ import annotations

import socket
import struct

from . import netlink, sock_diag

# include/net/tcp_states.h
_ESTABLISHED, _SYN_RECV, _FIN_WAIT1, _LAST_ACK, _LISTEN, _CLOSING = 1, 3, 4, 9, 10, 11
_OPENING = 1 << _SYN_RECV
_CLOSED = 1 << _FIN_WAIT1 | 1 << _LAST_ACK | 1 << _CLOSING

_LASTING = 1 << _ESTABLISHED | 1 << _LISTEN

# An attribute, which root is told with what it asks for by this extension (include/uapi/linux/inet_diag.h; net/ipv4/tcp_diag.c,
# tcp_diag_get_aux()).
_MD5SIG, _WITH_INFO = 18, 1 << 1

# include/uapi/linux/inet_diag.h: family, protocol, extensions, states, and which socket (any).
_REQUEST = struct.Struct("=BBBxI48x")
# struct inet_diag_msg: port of this end (network byte order); bytes to be sent, and inode.
_MESSAGE = struct.Struct("=4x2s46x8xI4xI")


def opening(ports):
    """Whether a client of one of these local TCP ports has begun a handshake that is not over."""
    return any(port in ports for port, _unsent, _inode, _more in _rows(_OPENING))


def closing(ports):
    """Whether something that was sent from one of these local TCP ports, by a connection that no process has any more, is not acknowledged."""
    return any(port in ports and unsent and not inode for port, unsent, inode, _more in _rows(_CLOSED))


def signed():
    """Inodes of the sockets, listeners and connections, that have keys of TCP-MD5 (RFC 2385)."""
    return {
        inode
        for _port, _unsent, inode, more in _rows(_LASTING, _WITH_INFO)
        if any(number == _MD5SIG for number, _value in netlink.attributes(more))
    }


def _rows(states, extensions=0):
    """Yield (local port, bytes to be sent, inode, attributes as they are) of each socket in these states."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            for body in sock_diag.ask(_REQUEST.pack(family, socket.IPPROTO_TCP, extensions, states)):
                if len(body) >= _MESSAGE.size:
                    port, unsent, inode = _MESSAGE.unpack_from(body)
                    yield int.from_bytes(port, "big"), unsent, inode, body[_MESSAGE.size :]
        except OSError:  # a kernel without IPv6, or without the module: as before there was such a question
            continue
