# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Ask a socket of another process itself, by a copy of its descriptor (pidfd_getfd(2), since Linux 5.6)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
from dataclasses import dataclass

# The same number on all architectures; Python has no name for the call.
_PIDFD_GETFD = 438
# include/uapi/linux/tcp.h; the name of a protocol on top of TCP (TCP_ULP_NAME_MAX), such as kernel TLS.
_TCP_ULP, _NAME_MAX = 31, 16


@dataclass(frozen=True)
class Kind:
    """``family``, ``kind`` (SOCK_STREAM …), ``protocol``; ``on_top``: name of a protocol on top of TCP, mostly none."""

    family: int
    kind: int
    protocol: int
    on_top: str = ""


def kind_of(process, number):
    """The `Kind` of socket behind descriptor ``number`` of a `Process`; None if it has been closed meanwhile."""
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return None
    try:
        copy = ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_GETFD, handle, number, 0)
    finally:
        os.close(handle)
    if copy < 0:
        return None
    try:
        # Python would find these out by four calls.
        found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=copy)
    except OSError:
        os.close(copy)
        return None
    with found, contextlib.suppress(OSError):  # the number is in use again, for something else
        family, kind, protocol = (
            found.getsockopt(socket.SOL_SOCKET, option)
            for option in (socket.SO_DOMAIN, socket.SO_TYPE, socket.SO_PROTOCOL)
        )
        return Kind(family, kind, protocol, _on_top(found) if protocol == socket.IPPROTO_TCP else "")
    return None


def _on_top(connection):
    try:
        return connection.getsockopt(socket.IPPROTO_TCP, _TCP_ULP, _NAME_MAX).rstrip(b"\0").decode("ascii", "replace")
    except OSError:  # a kernel without any
        return ""
