# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Internet sockets of processes, from /proc/net."""

from __future__ import annotations

import itertools
import socket
import struct

from .._files import read_lines

LISTEN, ESTABLISHED = 0x0A, 0x01
# include/net/tcp_states.h: anything else that still has a peer is a connection too.
_WITHOUT_PEER = (0x07, LISTEN)

TABLES = ("tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "raw", "raw6")

_INODE = 9  # column of a table
_MAPPED = bytes(10) + b"\xff\xff"  # an IPv4 address in IPv6 (RFC 4291, 2.5.5.2)
_MAPPED_TEXT = "".join(f"{word:08X}" for word in struct.unpack("=3I", _MAPPED))


class Socket:
    """One row of a /proc/net table: protocol, (address, port) of both ends, state, bytes to be received, inode.

    For a TCP listener ``waiting`` counts the connections that nobody has accepted yet.
    """

    def __init__(self, protocol, row):
        fields = row.split()
        self.protocol = protocol
        self.local = _endpoint(fields[1])
        self.remote = _endpoint(fields[2])
        self.ends = _ends(fields)
        self.state = int(fields[3], 16)
        self.waiting = int(fields[4].partition(":")[2], 16)
        self.inode = int(fields[_INODE])

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


def _ends(fields):
    """Both ends as the table has them: the same of a connection between a socket of IPv4 and one of IPv6."""
    return tuple(text[len(_MAPPED_TEXT) :] if text.startswith(_MAPPED_TEXT) else text for text in fields[1:3])


def _endpoint(text):
    # Addresses are printed as host-endian 32-bit words (net/ipv4/tcp_ipv4.c, net/ipv6/tcp_ipv6.c).
    address, port = text.split(":")
    words = [int(address[i : i + 8], 16) for i in range(0, len(address), 8)]
    packed = struct.pack(f"={len(words)}I", *words).removeprefix(_MAPPED)
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed), int(port, 16)


class Tables:
    """The tables of /proc/net, each read once for each network namespace, however many processes are asked about.

    With many connections a table takes longer to read than all else: 60,000 rows about a second. A `Tables` is therefore kept for one
    look at several processes, and no longer.
    """

    def __init__(self):
        self._rows, self._sockets, self._ends = {}, {}, {}

    def of(self, process):
        """Sockets of `Process` ``process`` in its own network namespace: list of `Socket`."""
        texts = [target[8:-1] for _number, target in process.descriptors() if target.startswith("socket:[")]
        # Several descriptors may be the same socket, and processes share sockets.
        namespace = process.namespace("net")
        return [found for inode in dict.fromkeys(texts) for found in self._parsed(namespace, process, inode)]

    def _parsed(self, namespace, process, inode):
        if (namespace, inode) not in self._sockets:
            rows = self._of_namespace(process).get(inode, ())
            self._sockets[namespace, inode] = [Socket(table, row) for table, row in rows]
        return self._sockets[namespace, inode]

    def other_end(self, process, connection):
        """Inode of the socket of this namespace that the TCP `Socket` ``connection`` of ``process`` leads to; 0: no process has it."""
        namespace = process.namespace("net")
        if namespace not in self._ends:
            self._ends[namespace] = {
                _ends(row.split(maxsplit=3)): int(inode)
                for inode, rows in self._of_namespace(process).items()
                for table, row in rows
                if table.startswith("tcp")
            }
        local, remote = connection.ends
        return self._ends[namespace].get((remote, local), 0)

    def _of_namespace(self, process):
        namespace = process.namespace("net")
        if namespace not in self._rows:
            found = self._rows[namespace] = {}
            for table in TABLES:
                for row in read_lines(f"{process.path}/net/{table}")[1:]:
                    fields = row.split(maxsplit=_INODE + 1)
                    if len(fields) > _INODE:
                        found.setdefault(fields[_INODE], []).append((table, row))
        return self._rows[namespace]


def of_processes(several):
    """Sockets of all these `Process`es: list of `Socket`, one that is shared as often as it is held."""
    tables = Tables()
    return [found for process in several for found in tables.of(process)]


def waiting(inodes):
    """Whether a connection waits at one of the TCP listeners with these ``inodes``, in this network namespace."""
    return any(_waits(f"/proc/net/{table}", inodes) for table in ("tcp", "tcp6"))


def _waits(path, inodes):
    try:
        with open(path, encoding="ascii") as stream:
            for row in itertools.islice(stream, 1, None):
                found = Socket("tcp", row)
                # The listeners come first (net/ipv4/tcp_ipv4.c, tcp_seq_start()): the others, of which there may be thousands, cost time.
                if not found.listening:
                    return False
                if found.waiting and found.inode in inodes:
                    return True
    except FileNotFoundError:  # a kernel without IPv6
        return False
    return False
