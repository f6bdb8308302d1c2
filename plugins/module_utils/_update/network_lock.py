# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The network lock: an nft table that drops an application's packets while the application cannot answer.

It is in force from just before the freeze until the restore is done, in the next boot before its network comes up. Without it
the first retransmission of a client would reach a kernel without that connection, which answers with a reset. The peer sends a
dropped packet again.

In the next boot the lock is there twice. The node's own services load their rules meanwhile, and most of them begin with
``flush ruleset``, which removes every table but those with an owner: a netlink socket that is still open (since Linux 5.12). The
second table has one, which files/node/boot/early leaves with a process. Should that process end, the first table is still there.
"""

from __future__ import annotations

from .._criu import connection_lock
from .._criu.command import SOCKET_MARK
from .._run import run

TABLE = "inet kup"
#: The second table of the next boot.
HELD = "inet kup_held"
#: The table by which peers wait.
WAITING = "inet kup_parked"

# The kernel sends a bare acknowledgement when a connection leaves repair mode. It tells the node's own filter that the connection is
# established: to connection tracking, which is new in this boot, the next packet of the peer would begin one, and most filters drop it.
# The limit has room for all options of TCP.
_PROBE = "tcp flags == ack meta length < 81 accept"


def ruleset(sockets, cgroups=()):
    """Text for ``nft -f`` that drops all packets of ``sockets`` (list of `sockets.Socket`).

    :param cgroups: control groups whose packets are dropped as well, whatever connections their processes have opened since.

    Rules for servers name the port, so that new clients wait as well; rules for outgoing connections name both endpoints. Both
    are sets, so that a packet costs the same with ten thousand connections as with one.
    """
    return f"table {TABLE}\ndelete table {TABLE}\ntable {TABLE} {{\n{_content(sockets, cgroups)}}}\n"


def newcomers(sockets):
    """Text for ``nft -f`` that drops only the first packet of each new TCP client of ``sockets``; empty if none of them is a server."""
    ports = _ports(sockets).get("tcp")
    if not ports:
        return ""
    rule = "tcp dport @tcp_ports tcp flags & (syn | ack | rst) == syn drop"
    content = _set("tcp_ports", "inet_service", ports) + _chain("input", [rule])
    return f"table {TABLE}\ndelete table {TABLE}\ntable {TABLE} {{\n{content}}}\n"


def held_ruleset(sockets):
    """The same for a table that stays for as long as the netlink socket of its loader is open, and no longer."""
    return f"table {HELD} {{\n\tflags owner\n{_content(sockets)}}}\n"


def waiting_ruleset(connections):
    """Text for ``nft -f`` that sets the window of all TCP segments of these connections to zero: their peers send nothing.

    :param connections: tuples (own address, port, peer's address, port).
    """
    pairs = {}
    for ends in connections:
        pairs.setdefault((_family(ends[0]), "tcp"), set()).add(_element(ends))
    sets, _incoming, outgoing = _of_pairs(pairs)
    rules = [f"{match} tcp window set 0" for match in outgoing]
    # Another chain than the lock's, which lets some segments pass.
    return f"table {WAITING}\ndelete table {WAITING}\ntable {WAITING} {{\n{''.join(sets)}{_chain('output', rules)}}}\n"


def _content(sockets, cgroups=()):
    sets, incoming, outgoing = _matches(sockets, cgroups)
    incoming, outgoing = ([f"{match} drop" for match in matches] for matches in (incoming, outgoing))
    return "".join(sets) + _chain("input", incoming) + _chain("output", [_PROBE, *outgoing])


def _matches(sockets, cgroups):
    """(sets, matches of packets that come to the sockets, and of those that go out): lists of texts."""
    ports, pairs = _ports(sockets), _pairs(sockets)
    sets, incoming, outgoing = [], [], []
    for protocol, numbers in sorted(ports.items()):
        name = f"{protocol}_ports"
        sets.append(_set(name, "inet_service", numbers))
        incoming.append(f"{protocol} dport @{name}")
        outgoing.append(f"{protocol} sport @{name}")
    of_pairs = _of_pairs(pairs)
    of_groups = [connection_lock.rule(cgroup) for cgroup in cgroups]
    return sets + of_pairs[0], of_groups + incoming + of_pairs[1], of_groups + outgoing + of_pairs[2]


def _of_pairs(pairs):
    """As `_matches`, for these `_pairs`."""
    sets, incoming, outgoing = [], [], []
    for (family, protocol), ends in sorted(pairs.items()):
        name = f"{family}_{protocol}"
        address = "ipv6_addr" if family == "ip6" else "ipv4_addr"
        sets.append(_set(name, f"{address} . inet_service . {address} . inet_service", ends))
        sender, receiver = (f"{family} {end}addr . {protocol} {end}port" for end in "sd")
        incoming.append(f"{receiver} . {sender} @{name}")
        outgoing.append(f"{sender} . {receiver} @{name}")
    return sets, incoming, outgoing


def _protocol(socket):
    """As nft names it; empty for a raw socket, which has no ports."""
    return socket.protocol.rstrip("6").replace("raw", "")


def _ports(sockets):
    """Ports of servers: dict protocol → set."""
    found = {}
    for socket in sockets:
        if socket.listening and _protocol(socket):
            found.setdefault(_protocol(socket), set()).add(socket.local[1])
    return found


def _pairs(sockets):
    """Ends of the connections that no port of a server stands for: dict (family, protocol) → set of elements."""
    ports, found = _ports(sockets), {}
    for socket in sockets:
        protocol = _protocol(socket)
        if protocol and socket.connected and socket.local[1] not in ports.get(protocol, ()):
            ends = _element((*socket.local, *socket.remote))
            found.setdefault((_family(socket.remote[0]), protocol), set()).add(ends)
    return found


def _family(address):
    return "ip6" if ":" in address else "ip"


def _element(ends):
    return " . ".join(map(str, ends))


def _set(name, kind, elements):
    listed = ", ".join(map(str, sorted(elements)))
    return f"\tset {name} {{\n\t\ttype {kind}\n\t\telements = {{ {listed} }}\n\t}}\n"


def _chain(hook, rules):
    # Before the node's own filter (priority 0), so that nothing can reject a packet instead.
    head = f"\tchain {hook} {{\n\t\ttype filter hook {hook} priority -200; policy accept;\n"
    mark = f"\t\tmeta mark {SOCKET_MARK:#x} accept\n"
    return head + mark + "".join(f"\t\t{rule}\n" for rule in rules) + "\t}\n"


def apply(text, timeout=60):
    """Apply the lock of this `ruleset`, within some seconds."""
    run(["nft", "-f", "-"], stdin=text, timeout=timeout)


def release(table=TABLE):
    """Let packets pass again; no error without a lock."""
    run(["nft", "delete", "table", *table.split()], check=False)
