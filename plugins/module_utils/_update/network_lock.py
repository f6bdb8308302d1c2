# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The network lock: an nft table that drops an application's packets while the application cannot answer.

It is in force from just before the freeze until the restore is done, in the next boot before its network comes up. Without it
the first retransmission of a client would reach a kernel without that connection, which answers with a reset. The peer sends a
dropped packet again.
"""

from __future__ import annotations

from .._criu.command import SOCKET_MARK
from .._run import run

TABLE = "inet kup"


def ruleset(sockets):
    """Text for ``nft -f`` that drops all packets of ``sockets`` (list of `sockets.Socket`).

    Rules for servers name the port, so that new clients wait as well; rules for outgoing connections name both endpoints.
    """
    ports = {(socket.protocol[:3], socket.local[1]) for socket in sockets if socket.listening}
    pairs = {
        (socket.protocol[:3], socket.local, socket.remote)
        for socket in sockets
        if socket.connected and (socket.protocol[:3], socket.local[1]) not in ports
    }
    incoming = [f"{protocol} dport {port} drop" for protocol, port in sorted(ports)]
    outgoing = [f"{protocol} sport {port} drop" for protocol, port in sorted(ports)]
    for protocol, local, remote in sorted(pairs):
        family = "ip6" if ":" in remote[0] else "ip"
        incoming.append(_match(family, protocol, remote, local))
        outgoing.append(_match(family, protocol, local, remote))
    return (
        f"table {TABLE}\ndelete table {TABLE}\ntable {TABLE} {{\n"
        + _chain("input", incoming)
        + _chain("output", outgoing)
        + "}\n"
    )


def _match(family, protocol, source, destination):
    return (
        f"{family} saddr {source[0]} {protocol} sport {source[1]} "
        f"{family} daddr {destination[0]} {protocol} dport {destination[1]} drop"
    )


def _chain(hook, rules):
    # Before the node's own filter (priority 0), so that nothing can reject a packet instead.
    head = f"\tchain {hook} {{\n\t\ttype filter hook {hook} priority -200; policy accept;\n"
    mark = f"\t\tmeta mark {SOCKET_MARK:#x} accept\n"
    return head + mark + "".join(f"\t\t{rule}\n" for rule in rules) + "\t}\n"


def apply(text):
    """Apply the lock of this `ruleset`."""
    run(["nft", "-f", "-"], stdin=text)


def release():
    """Let packets pass again; no error without a lock."""
    run(["nft", "delete", "table", *TABLE.split()], check=False)
