# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Internet sockets of processes, from /proc/net."""

from __future__ import annotations

import ctypes
import ipaddress
import os
import socket
import struct

from .._files import read_text

LISTEN, ESTABLISHED = 0x0A, 0x01
# include/net/tcp_states.h: anything else that still has a peer is a connection too.
_WITHOUT_PEER = (0x07, LISTEN)

# Number of pidfd_getfd(2), the same on all architectures (since Linux 5.6); Python has no name for it.
_PIDFD_GETFD = 438

TABLES = ("tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "raw", "raw6")


class Socket:
    """One row of a /proc/net table: protocol, (address, port) of both ends, state, bytes to be received, inode.

    For a TCP listener ``waiting`` counts the connections that nobody has accepted yet.
    """

    def __init__(self, protocol, row):
        fields = row.split()
        self.protocol = protocol
        self.local = _endpoint(fields[1])
        self.remote = _endpoint(fields[2])
        self.state = int(fields[3], 16)
        self.waiting = int(fields[4].partition(":")[2], 16)
        self.inode = int(fields[9])

    @property
    def listening(self):
        """A TCP listener, or a datagram socket bound to a port without a peer."""
        if self.protocol.startswith("tcp"):
            return self.state == LISTEN
        return self.local[1] != 0 and self.remote[1] == 0

    @property
    def connected(self):
        """A socket with a peer."""
        return self.remote[1] != 0 and (self.state not in _WITHOUT_PEER)


def _endpoint(text):
    # Addresses are printed as host-endian 32-bit words (net/ipv4/tcp_ipv4.c, net/ipv6/tcp_ipv6.c).
    address, port = text.split(":")
    words = [int(address[i : i + 8], 16) for i in range(0, len(address), 8)]
    parsed = ipaddress.ip_address(struct.pack(f"={len(words)}I", *words))
    mapped = getattr(parsed, "ipv4_mapped", None)
    return str(mapped or parsed), int(port, 16)


def of_process(process):
    """Sockets of `Process` ``process`` in its own network namespace: list of `Socket`."""
    inodes = {target[8:-1] for _number, target in process.descriptors() if target.startswith("socket:[")}
    found = []
    for table in TABLES:
        rows = read_text(f"{process.path}/net/{table}", "").splitlines()[1:]
        found += [Socket(table, row) for row in rows if row.split()[9] in inodes]
    return found


def kind_of(process, number):
    """What the socket behind descriptor ``number`` is: (family, protocol), or None if it has been closed meanwhile.

    Asks the socket itself: the tables know none that is not yet, or no longer, bound or connected.
    """
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
        with socket.socket(fileno=copy) as found:
            return int(found.family), int(found.proto)
    except OSError:  # the number is in use again, for something else
        return None
