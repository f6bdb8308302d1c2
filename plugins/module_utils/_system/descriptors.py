# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Ask a socket of another process itself, by a copy of its descriptor (pidfd_getfd(2), since Linux 5.6)."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import socket
import struct
import sys
from dataclasses import dataclass

# The same number on all architectures; Python has no name for the call.
_PIDFD_GETFD = 438
# include/uapi/linux/tcp.h; the name of a protocol on top of TCP (TCP_ULP_NAME_MAX), such as kernel TLS.
_TCP_ULP, _NAME_MAX = 31, 16
_SO_GET_FILTER = 26
_DEVICE_NAME_MAX = 16  # IFNAMSIZ
_SOL_NETLINK, _NETLINK_LIST_MEMBERSHIPS = 270, 9
_SIOCUNIXFILE = 0x89E0  # include/uapi/linux/un.h, since Linux 4.16
_GROUPS = 8192  # more than any protocol has


@dataclass(frozen=True)
class Kind:
    """``family``, ``kind`` (SOCK_STREAM …), ``protocol``; ``on_top``: name of a protocol on top of TCP, mostly none; ``filtered``: by an
    eBPF program; ``group``: the highest netlink group that it listens to, 0: none."""

    family: int
    kind: int
    protocol: int
    on_top: str = ""
    filtered: bool = False
    group: int = 0


class Copies:
    """Copies of the descriptors of one `Process`, for as long as the context lasts."""

    def __init__(self, process):
        self._pid, self._handle = process.pid, -1
        self._call = ctypes.CDLL(None, use_errno=True).syscall

    def __enter__(self):
        with contextlib.suppress(OSError):  # it has ended
            self._handle = os.pidfd_open(self._pid)
        return self

    def __exit__(self, *error):
        if self._handle >= 0:
            os.close(self._handle)

    def kind_of(self, number):
        """The `Kind` of the socket behind descriptor ``number``; None if it has been closed meanwhile."""
        return self._ask(number, _kind)

    def device(self, number):
        """Name of the interface that the socket behind descriptor ``number`` is bound to, empty for none; None as of `kind_of`."""
        return self._ask(number, _device)

    def peer_user(self, number):
        """Id of the user that made the other end of the unix socket behind ``number``; None as of `kind_of`."""
        return self._ask(number, _peer_user)

    def peer_pid(self, number):
        """Pid of the process that made the other end of the unix socket behind ``number``, or listened there; None as of `kind_of`."""
        return self._ask(number, _peer_pid)

    def moved(self, number, path, root):
        """Whether the file of the bound unix socket behind ``number`` is still there, but by another name than that of the socket, which
        it would not get again. The fingerprint program gives it another one in the directory of the first, if CRIU can have that.

        :param path: the first name of the file, or empty where it was not an absolute one.
        :param root: where the root of the process's mount namespace is from here.
        """
        return bool(self._ask(number, lambda bound: _moved(bound, f"{root}{path}" if path else "", root)))

    def _ask(self, number, question):
        copy = self._call(_PIDFD_GETFD, self._handle, number, 0)
        if copy < 0:
            return None
        try:
            # Python would find the three out by calls of its own.
            found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=copy)
        except OSError:  # the number is in use again, for something else
            os.close(copy)
            return None
        with found, contextlib.suppress(OSError):
            return question(found)
        return None


def _kind(found):
    family, kind, protocol = (
        found.getsockopt(socket.SOL_SOCKET, option) for option in (socket.SO_DOMAIN, socket.SO_TYPE, socket.SO_PROTOCOL)
    )
    inet = family in (socket.AF_INET, socket.AF_INET6)
    on_top = _on_top(found) if inet and protocol == socket.IPPROTO_TCP else ""
    group = _highest_group(found) if family == socket.AF_NETLINK else 0
    return Kind(family, kind, protocol, on_top, _filtered(found), group)


def _device(found):
    name = found.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, _DEVICE_NAME_MAX)
    return os.fsdecode(name.rstrip(b"\0"))


def _filtered(found):
    try:
        # Returns how long a classic program is; of another one the kernel tells nothing (net/core/filter.c, sk_get_filter()).
        found.getsockopt(socket.SOL_SOCKET, _SO_GET_FILTER, 1)
    except OSError as error:
        return error.errno == errno.EACCES
    return False


def _highest_group(found):
    bits = found.getsockopt(_SOL_NETLINK, _NETLINK_LIST_MEMBERSHIPS, _GROUPS // 8)
    return int.from_bytes(bits, sys.byteorder).bit_length()


def _peer_user(connection):
    return _peer(connection)[1]


def _peer_pid(connection):
    return _peer(connection)[0]


def _peer(connection):
    return struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))


def _moved(bound, path, root):
    file = fcntl.ioctl(bound, _SIOCUNIXFILE)
    try:
        there = os.fstat(file).st_nlink > 0
        current = os.readlink(f"/proc/self/fd/{file}")
    finally:
        os.close(file)
    renamed = os.path.basename(current) != os.path.basename(os.fsdecode(bound.getsockname()))
    gone = bool(path and not os.path.lexists(path))
    return there and (renamed or gone) and not (renamed and gone and _same_directory(path, root + current))


def _same_directory(path, other):
    with contextlib.suppress(OSError):
        return os.path.samefile(os.path.dirname(path), os.path.dirname(other))
    return False


def _on_top(connection):
    try:
        return connection.getsockopt(socket.IPPROTO_TCP, _TCP_ULP, _NAME_MAX).rstrip(b"\0").decode("ascii", "replace")
    except OSError:  # a kernel without any
        return ""
