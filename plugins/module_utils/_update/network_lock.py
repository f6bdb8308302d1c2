# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The nft table that holds an application's packets while nobody can answer them.

From just before the freeze until the restore is done, here and in the next boot before its network comes up: without it
the first retransmission of a client meets a kernel that knows no such connection and answers with a reset. A packet that
is dropped is sent again by its peer.
"""

from __future__ import annotations

from .._criu.command import SOCKET_MARK
from .._run import run

TABLE = "inet kup"


def ruleset(sockets):
    """Text for ``nft -f`` that holds everything of ``sockets`` (list of `sockets.Socket`).

    Servers are held by port, so that new clients wait as well; connections to elsewhere by both endpoints.
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
    # Before the node's own filter (priority 0), so that nothing can reject what is to be held.
    head = f"\tchain {hook} {{\n\t\ttype filter hook {hook} priority -200; policy accept;\n"
    mark = f"\t\tmeta mark {SOCKET_MARK:#x} accept\n"
    return head + mark + "".join(f"\t\t{rule}\n" for rule in rules) + "\t}\n"


def apply(text):
    """Hold from now on."""
    run(["nft", "-f", "-"], stdin=text)


def release():
    """Let packets pass again; no error if none are held."""
    run(["nft", "delete", "table", *TABLE.split()], check=False)
