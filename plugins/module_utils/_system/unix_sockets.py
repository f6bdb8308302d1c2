# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Unix sockets and their peers, as sock_diag(7) tells them (/proc/net/unix does not tell peers).

The answer is binary: a socket may have any bytes for its name, also blanks and newlines.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

from .._errors import KupError
from . import netlink, sock_diag

# include/uapi/linux/unix_diag.h
_SHOW_NAME, _SHOW_PEER, _SHOW_ICONS = 0x1, 0x4, 0x8
_ATTRIBUTE_NAME, _ATTRIBUTE_PEER, _ATTRIBUTE_ICONS = 0, 2, 3
_ALL_STATES = 0xFFFFFFFF
_LISTEN = 10  # include/net/tcp_states.h

_REQUEST = struct.Struct("=BBHIIIII")  # struct unix_diag_req
_MESSAGE = struct.Struct("=xBBxIII")  # struct unix_diag_msg
_NUMBER = struct.Struct("=I")


@dataclass(frozen=True)
class UnixSocket:
    """``path`` (empty where unnamed, ``@name`` where abstract), ``inode``, ``peer`` (inode, 0: none), ``type`` (such as SOCK_DGRAM);
    whether it is ``listening``, and the number of connections that are ``waiting`` for it to accept them."""

    path: str
    inode: int
    peer: int = 0
    type: int = socket.SOCK_STREAM
    listening: bool = False
    waiting: int = 0


def table():
    """All unix sockets of this network namespace: dict inode → `UnixSocket`.

    :raises KupError: the kernel does not tell.
    """
    request = _REQUEST.pack(socket.AF_UNIX, 0, 0, _ALL_STATES, 0, _SHOW_NAME | _SHOW_PEER | _SHOW_ICONS, 0, 0)
    try:
        return {each.inode: each for each in sockets(sock_diag.ask(request))}
    except OSError as error:
        raise KupError(
            f"The kernel does not tell the unix sockets of this node ({error}); load its module unix_diag."
        ) from error


def sockets(bodies):
    """The `UnixSocket` of each body of an answer that is long enough."""
    return [_socket(body) for body in bodies if len(body) >= _MESSAGE.size]


def _socket(body):
    kind, state, inode, *_cookie = _MESSAGE.unpack_from(body)
    attributes = dict(netlink.attributes(body[_MESSAGE.size :]))
    peer = attributes.get(_ATTRIBUTE_PEER, b"")
    return UnixSocket(
        _path(attributes.get(_ATTRIBUTE_NAME, b"")),
        inode,
        _NUMBER.unpack(peer)[0] if len(peer) == _NUMBER.size else 0,
        kind,
        state == _LISTEN,
        len(attributes.get(_ATTRIBUTE_ICONS, b"")) // _NUMBER.size,
    )


def _path(name):
    # The kernel gives a path with its end (a NUL, since 6.x or not), and an abstract name behind a NUL.
    text = name[1:] if name.startswith(b"\0") else name.split(b"\0")[0]
    return ("@" if name.startswith(b"\0") else "") + text.decode("utf-8", "replace")
