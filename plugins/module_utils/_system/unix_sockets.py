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

# include/uapi/linux/netlink.h, sock_diag.h, unix_diag.h
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY = 4, 20
_NLM_F_REQUEST, _NLM_F_DUMP = 0x1, 0x300
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_SHOW_NAME, _SHOW_PEER, _SHOW_ICONS = 0x1, 0x4, 0x8
_ATTRIBUTE_NAME, _ATTRIBUTE_PEER, _ATTRIBUTE_ICONS = 0, 2, 3
_ALL_STATES = 0xFFFFFFFF
_LISTEN = 10  # include/net/tcp_states.h

_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr
_REQUEST = struct.Struct("=BBHIIIII")  # struct unix_diag_req
_MESSAGE = struct.Struct("=xBBxIII")  # struct unix_diag_msg
_ATTRIBUTE = struct.Struct("=HH")  # struct nlattr
_NUMBER = struct.Struct("=I")

# The kernel fills one page or 32 KiB (net/netlink/af_netlink.c, netlink_dump()).
_BUFFER = 1 << 16
_PATIENCE = 10  # seconds


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
    found = {}
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
            kernel.settimeout(_PATIENCE)
            body = _REQUEST.pack(socket.AF_UNIX, 0, 0, _ALL_STATES, 0, _SHOW_NAME | _SHOW_PEER | _SHOW_ICONS, 0, 0)
            size = _HEADER.size + len(body)
            kernel.send(_HEADER.pack(size, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST | _NLM_F_DUMP, 1, 0) + body)
            more = True
            while more:
                sockets, more = parse(kernel.recv(_BUFFER))
                found.update((each.inode, each) for each in sockets)
    except OSError as error:
        raise KupError(
            f"The kernel does not tell the unix sockets of this node ({error}); load its module unix_diag."
        ) from error
    return found


def parse(answer):
    """One datagram of the kernel's answer: list of `UnixSocket`, and whether more datagrams follow.

    :raises OSError: the kernel reports an error.
    """
    found = []
    for kind, body in _messages(answer):
        if kind == _NLMSG_DONE:
            return found, False
        if kind == _NLMSG_ERROR:
            code = -struct.unpack_from("=i", body)[0] if len(body) >= _NUMBER.size else 0
            raise OSError(code, f"error {code}")
        if kind == _SOCK_DIAG_BY_FAMILY and len(body) >= _MESSAGE.size:
            found.append(_socket(body))
    return found, True


def _messages(data):
    """Yield (type, body) of each netlink message."""
    while len(data) >= _HEADER.size:
        size, kind = _HEADER.unpack_from(data)[:2]
        if not _HEADER.size <= size <= len(data):
            return
        yield kind, data[_HEADER.size : size]
        data = data[_aligned(size) :]


def _socket(body):
    kind, state, inode, *_cookie = _MESSAGE.unpack_from(body)
    attributes = dict(_attributes(body[_MESSAGE.size :]))
    peer = attributes.get(_ATTRIBUTE_PEER, b"")
    return UnixSocket(
        _path(attributes.get(_ATTRIBUTE_NAME, b"")),
        inode,
        _NUMBER.unpack(peer)[0] if len(peer) == _NUMBER.size else 0,
        kind,
        state == _LISTEN,
        len(attributes.get(_ATTRIBUTE_ICONS, b"")) // _NUMBER.size,
    )


def _attributes(data):
    while len(data) >= _ATTRIBUTE.size:
        size, kind = _ATTRIBUTE.unpack_from(data)
        if not _ATTRIBUTE.size <= size <= len(data):
            return
        yield kind, data[_ATTRIBUTE.size : size]
        data = data[_aligned(size) :]


def _aligned(size):
    return (size + 3) & ~3


def _path(name):
    # The kernel gives a path with its end (a NUL, since 6.x or not), and an abstract name behind a NUL.
    text = name[1:] if name.startswith(b"\0") else name.split(b"\0")[0]
    return ("@" if name.startswith(b"\0") else "") + text.decode("utf-8", "replace")
