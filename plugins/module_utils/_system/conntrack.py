# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What connection tracking has noted of connections, and the messages that make it note the same again: ctnetlink.

A kernel that begins takes a packet of an old connection for the first one of a new connection. Where a rule had translated its address or port,
the answers would then leave with another sender, and the client would end the connection.
"""

from __future__ import annotations

import errno
import socket
import struct

from . import netlink

# include/uapi/linux/netfilter/nfnetlink.h, nfnetlink_conntrack.h
_NETLINK_NETFILTER = 12
_NEW, _GET = 0x100, 0x101
_FAMILY = struct.Struct("=BBH")  # struct nfgenmsg
_ORIGINAL, _REPLY, _STATUS, _PROTOCOL_STATE, _NAT_SOURCE, _TIMEOUT, _MARK, _NAT_DESTINATION = 1, 2, 3, 4, 6, 7, 8, 13
_SEQUENCE_ORIGINAL, _SEQUENCE_REPLY, _LABELS, _SYNPROXY = 15, 16, 22, 24
_TUPLE_ADDRESSES, _TUPLE_PROTOCOL = 1, 2
_PROTOCOL, _SOURCE_PORT, _DESTINATION_PORT = 1, 2, 3
_TCP, _TCP_STATE, _TCP_SCALES, _TCP_FLAGS = 1, 1, (2, 3), (4, 5)
_NAT_PORTS, _NAT_PORT_LEAST, _NAT_PORT_MOST = 3, 1, 2
# Family: numbers of the attributes with the addresses of source and destination, and with the least and the most address to translate to.
_FAMILIES = {socket.AF_INET: ((1, 2), (1, 2)), socket.AF_INET6: ((3, 4), (4, 5))}
# nf_conntrack_common.h: what a new entry may be told of its past; and what makes one special.
_SEEN_REPLY, _ASSURED, _CONFIRMED = 1 << 1, 1 << 2, 1 << 3
_TRANSLATED, _ADJUSTED = 1 << 4 | 1 << 5, 1 << 6
# Flags of TCP: window scaling, selective acknowledgement, who closed. Others speak of numbers that are not told, such as the highest
# acknowledged one, by which resets are judged. So is the window: without leniency a segment that does not fit what the first ones have shown would
# not be translated. Daemons that hand connections to another firewall do the same (conntrackd).
_LASTING, _LENIENT = 0x07, 0x08
# Seconds. An entry must not end before the restore.
_LEAST_TIMEOUT = 300
_PATIENCE = 0.5  # seconds of the outage; the kernel answers at once
# What goes along as it is.
_KEPT = (_MARK, _LABELS, _SEQUENCE_ORIGINAL, _SEQUENCE_REPLY, _SYNPROXY)

_PROTOCOLS = {"tcp": socket.IPPROTO_TCP, "udp": socket.IPPROTO_UDP}


def noted(connections, everything=False):
    """Yield (connection, message that makes the kernel note it again as it does now) for each of these `sockets.Socket` that it has noted.

    :param everything: also those that a new kernel would note in the same way by itself, unless it is strict.
    :raises OSError: the kernel does not answer.
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER) as kernel:
        kernel.settimeout(_PATIENCE)
        for connection in connections:
            message = _again(_answer(kernel, connection), everything)
            if message:
                yield connection, message


def _answer(kernel, connection):
    """What the kernel has noted of the connection, bytes behind the header; empty if nothing."""
    protocol = _PROTOCOLS.get(connection.protocol.rstrip("6"))
    if not protocol:
        return b""
    family = socket.AF_INET6 if ":" in connection.remote[0] else socket.AF_INET
    ends = [(socket.inet_pton(family, address), port) for address, port in (connection.local, connection.remote)]
    request = _FAMILY.pack(family, 0, 0) + _nested(_ORIGINAL, _tuple(family, protocol, ends))
    kernel.send(netlink.message(_GET, netlink.REQUEST, request))
    kind, body = next(netlink.messages(kernel.recv(netlink.BUFFER)), (netlink.ERROR, b""))
    if kind != netlink.ERROR:
        return body
    # The last two: a kernel without the module.
    if netlink.code(body) in (errno.ENOENT, errno.EINVAL, errno.EOPNOTSUPP):
        return b""
    raise OSError(netlink.code(body), f"connection tracking: error {netlink.code(body)}")


def _nested(number, data):
    return netlink.attribute(number | netlink.NESTED, data)


def _port(number):
    return number.to_bytes(2, "big")


def _tuple(family, protocol, ends):
    """One direction of a connection, between two ends: (address, port)."""
    (source, source_port), (destination, destination_port) = ends
    of_source, of_destination = _FAMILIES[family][0]
    addresses = netlink.attribute(of_source, source) + netlink.attribute(of_destination, destination)
    ports = netlink.attribute(_SOURCE_PORT, _port(source_port)) + netlink.attribute(
        _DESTINATION_PORT, _port(destination_port)
    )
    return _nested(_TUPLE_ADDRESSES, addresses) + _nested(
        _TUPLE_PROTOCOL, netlink.attribute(_PROTOCOL, bytes([protocol])) + ports
    )


def _parsed(family, data):
    """(protocol, [source, destination]) of one direction; see `_tuple`."""
    parts = dict(netlink.attributes(data))
    addresses, protocol = (dict(netlink.attributes(parts[number])) for number in (_TUPLE_ADDRESSES, _TUPLE_PROTOCOL))
    source, destination = (addresses[number] for number in _FAMILIES[family][0])
    ports = [int.from_bytes(protocol[number], "big") for number in (_SOURCE_PORT, _DESTINATION_PORT)]
    return protocol[_PROTOCOL][0], [(source, ports[0]), (destination, ports[1])]


def _again(body, everything):
    """The message that makes what the ``body`` of an answer tells; empty if it is nothing special, or no whole answer."""
    try:
        return _made_again(body[0], dict(netlink.attributes(body[_FAMILY.size :])), everything)
    except LookupError:
        return b""


def _made_again(family, told, everything):
    status = int.from_bytes(told[_STATUS], "big")
    special = status & (_TRANSLATED | _ADJUSTED) or any(told.get(_MARK, b"")) or any(told.get(_LABELS, b""))
    if not special and not everything:
        return b""
    protocol, (source, destination) = _parsed(family, told[_ORIGINAL])
    _protocol, (answering, answered) = _parsed(family, told[_REPLY])
    status = status & (_SEEN_REPLY | _ASSURED) | _CONFIRMED
    made = [
        _nested(_ORIGINAL, told[_ORIGINAL]),
        # As it would be without a translation, which the kernel then does by itself.
        _nested(_REPLY, _tuple(family, protocol, [destination, source])),
        netlink.attribute(_STATUS, status.to_bytes(4, "big")),
        netlink.attribute(_TIMEOUT, max(int.from_bytes(told[_TIMEOUT], "big"), _LEAST_TIMEOUT).to_bytes(4, "big")),
        *(netlink.attribute(number, told[number]) for number in _KEPT if number in told),
    ]
    if answered != source:
        made.append(_nested(_NAT_SOURCE, _translation(family, answered)))
    if answering != destination:
        made.append(_nested(_NAT_DESTINATION, _translation(family, answering)))
    if protocol == socket.IPPROTO_TCP:
        made.append(_nested(_PROTOCOL_STATE, _tcp_state(told[_PROTOCOL_STATE])))
    flags = netlink.REQUEST | netlink.CREATE | netlink.EXCLUSIVE | netlink.ACK
    return netlink.message(_NEW, flags, _FAMILY.pack(family, 0, 0) + b"".join(made))


def _translation(family, end):
    address, port = end
    least, most = _FAMILIES[family][1]
    ports = b"".join(netlink.attribute(number, _port(port)) for number in (_NAT_PORT_LEAST, _NAT_PORT_MOST))
    return netlink.attribute(least, address) + netlink.attribute(most, address) + _nested(_NAT_PORTS, ports)


def _tcp_state(data):
    told = dict(netlink.attributes(dict(netlink.attributes(data)).get(_TCP, b"")))
    made = [netlink.attribute(number, told[number]) for number in (_TCP_STATE, *_TCP_SCALES) if number in told]
    # The kernel takes flags with the mask of those that count.
    for number in _TCP_FLAGS:
        flags = told.get(number, b"\0")[0] & _LASTING | _LENIENT
        made.append(netlink.attribute(number, bytes([flags, flags])))
    return _nested(_TCP, b"".join(made))
