# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Interfaces that sockets need, whatever addresses they have: by their devices (SO_BINDTODEVICE), as packet sockets, for multicast groups.

Which socket is in a group the kernel tells nobody. So where one could be, each interface counts that is in a group which is not its own
doing; that may be one too many, which costs nothing but the time in which it is brought up.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass

from .._files import read_lines
from . import descriptors, sockets

# Groups in which each interface is: all hosts; by IPv6 all nodes and routers, and those of its own addresses (solicited nodes).
_ALL_HOSTS = "010000E0"
_OWN = (
    f"ff02{'0' * 20}01ff",
    f"ff02{'0' * 27}1",
    f"ff01{'0' * 27}1",
    f"ff02{'0' * 27}2",
    f"ff01{'0' * 27}2",
    f"ff05{'0' * 27}2",
)


@dataclass(frozen=True)
class Devices:
    """Names of interfaces: ``bound``, without which a socket cannot be restored, and ``groups``, of multicast."""

    bound: frozenset = frozenset()
    groups: frozenset = frozenset()


def of(several):
    """The `Devices` of these `Process`es."""
    tables, bound, hears = sockets.Tables(), set(), False
    for process in several:
        # Connections of a service that is bound to a device are those of its listeners; there may be very many.
        found = {
            each.inode: each.protocol for each in tables.of(process) if each.listening or each.protocol[:3] != "tcp"
        }
        hears = hears or any(protocol[:3] != "tcp" for protocol in found.values())
        packets = dict(_packet_sockets(process))
        with descriptors.Copies(process) as copies:
            for number, target in process.descriptors():
                inode = int(target[8:-1]) if target.startswith("socket:[") else 0
                if inode in found:
                    bound.add(copies.device(number))
                elif inode in packets:
                    bound.add(packets[inode])
    return Devices(frozenset(bound - {None, ""}), frozenset(_in_groups()) if hears else frozenset())


def _packet_sockets(process):
    """Yield (inode, name of the interface) of each packet socket that is bound to one."""
    for row in read_lines(f"{process.path}/net/packet")[1:]:
        fields = row.split()
        if len(fields) > 8 and int(fields[4]):
            yield int(fields[8]), _name(int(fields[4]))


def _name(number):
    try:
        return socket.if_indextoname(number)
    except OSError:  # gone, or of another network namespace
        return ""


def _in_groups():
    """Yield the name of each interface that is in a group which somebody has asked for."""
    device = ""
    for row in _rows("/proc/net/igmp")[1:]:
        fields = row.split()
        if row[:1].isdigit() and len(fields) > 1:
            device = fields[1].rstrip(":")
        elif fields and fields[0] != _ALL_HOSTS:
            yield device
    for fields in (row.split() for row in _rows("/proc/net/igmp6")):
        if len(fields) > 2 and not fields[2].startswith(_OWN):
            yield fields[1]


def _rows(path):
    try:
        return read_lines(path)
    except OSError:  # a kernel without IPv6
        return []
