# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The addresses and routes that saved connections need, so that the next boot has them before udev and a network manager.

A network manager starts seconds later, finds the same addresses on the same interface and takes them over. It alone sets up
bonds, VLANs and bridges; a restore that needs one waits for it.
"""

from __future__ import annotations

import os
import re

from .._files import read_text
from .._run import run
from . import drivers


def peers(sockets):
    """(local, remote) addresses of all connections that leave the node."""
    return {(s.local[0], s.remote[0]) for s in sockets if s.connected and not _loopback(s.local[0])}


def bound(sockets):
    """Addresses of this node that sockets are bound to, without wildcards and loopback."""
    return {s.local[0] for s in sockets if s.local[0] not in ("0.0.0.0", "::") and not _loopback(s.local[0])}


def route_queries(sockets):
    """Lines for ``ip -batch`` that all succeed once every socket can be bound and every peer be reached."""
    lines = {f"route get {remote} from {local}" for local, remote in peers(sockets)}
    lines |= {f"route get {address} from {address}" for address in bound(sockets)}
    return "".join(f"{line}\n" for line in sorted(lines))


class Link:
    """An interface as it is now: ``name``, ``mac``, ``modules`` of its drivers, ``commands`` for ``ip -batch``."""

    def __init__(self, name):
        self.name = name
        self.mac = read_text(f"/sys/class/net/{name}/address", "")
        # Also the bus's drivers: it is udev that loads them, and that comes later.
        self.modules = sorted(drivers.chain(os.path.realpath(f"/sys/class/net/{name}/device")))
        self.commands = [f"link set dev {name} mtu {read_text(f'/sys/class/net/{name}/mtu')} up"]
        self.commands += [f"address replace {address} dev {name}" for address in _addresses(name)]
        # First what is reached directly, gateways among it.
        routes = sorted(_routes(name), key=lambda route: " via " in f" {route}")
        self.commands += [f"route replace {route} dev {name}" for route in routes]

    @staticmethod
    def plain(name):
        """A card of its own: no part of a bond or bridge, nothing on top of another interface."""
        path = f"/sys/class/net/{name}"
        return os.path.exists(f"{path}/device") and not os.path.exists(f"{path}/master")


def links(sockets):
    """The interfaces that the connections of ``sockets`` use.

    :returns: list of `Link` for the plain ones, and whether that is all of them.
    """
    names = set()
    for line in route_queries(sockets).splitlines():
        # A bound address is looked up as a local one, which is on lo; its interface comes from the address table.
        found = re.search(r" dev (\S+)", run(["ip", *line.split()], check=False).stdout)
        if found and found.group(1) != "lo":
            names.add(found.group(1))
    for address in bound(sockets):
        found = re.match(r"\d+: (\S+)", run(["ip", "-oneline", "address", "show", "to", address], check=False).stdout)
        if found:
            names.add(found.group(1))
    plain = sorted(filter(Link.plain, names))
    return [Link(name) for name in plain], len(plain) == len(names)


def _addresses(name):
    for line in run(["ip", "-oneline", "address", "show", "dev", name, "scope", "global"]).stdout.splitlines():
        fields = line.split()
        # "2: ens3 inet 10.0.0.5/24 brd 10.0.0.255 scope global …"; duplicate address detection is for newcomers.
        yield fields[3] + (" brd +" if fields[2] == "inet" else " nodad")


def _routes(name):
    for family in ("-4", "-6"):
        for line in run(["ip", family, "route", "show", "dev", name]).stdout.splitlines():
            if "proto kernel" not in line:
                yield re.sub(r" (linkdown|dead|expires \S+)", "", line).strip()


def _loopback(address):
    return address == "::1" or address.startswith("127.")
