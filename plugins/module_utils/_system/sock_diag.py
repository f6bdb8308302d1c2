# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Questions about all sockets of this network namespace: sock_diag(7)."""

from __future__ import annotations

import socket

from . import netlink

# include/uapi/linux/netlink.h, sock_diag.h
_NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY = 4, 20


def ask(request):
    """Yield the body of each message that answers a ``request``, bytes behind the header.

    :raises OSError: the kernel does not tell.
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(netlink.PATIENCE)
        kernel.send(netlink.message(SOCK_DIAG_BY_FAMILY, netlink.REQUEST | netlink.DUMP, request))
        more = True
        while more:
            bodies, more = parse(kernel.recv(netlink.BUFFER))
            yield from bodies


def parse(answer):
    """One datagram of the kernel's answer: list of bodies, and whether more datagrams follow.

    :raises OSError: the kernel reports an error.
    """
    found = []
    for kind, body in netlink.messages(answer):
        if kind == netlink.DONE:
            return found, False
        if kind == netlink.ERROR:
            raise OSError(netlink.code(body), f"error {netlink.code(body)}")
        if kind == SOCK_DIAG_BY_FAMILY:
            found.append(body)
    return found, True
