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


class Reach:
    """How the peers and the own addresses of sockets are reached at present.

    What is not reached at present – a connection whose address has moved to another node, a socket that is bound to an address which
    is not there (IP_FREEBIND) – is nothing that the next boot could wait for.
    """

    def __init__(self):
        # (source, destination) → (gateway or destination, interface), or None: asked once, because the second time is in the freeze.
        self._found = {}
        self._owners = _owners()

    def look(self, sockets):
        """Ask for all that has not been asked yet, by one process."""
        asked = sorted(_ways(sockets) - self._found.keys())
        self._found.update(dict.fromkeys(asked))
        if not asked:
            return
        lines = "".join(f"route get {destination} from {source}\n" for source, destination in asked)
        # --force: a look-up that fails ends none of the others.
        for line in run(["ip", "-oneline", "-force", "-batch", "-"], stdin=lines, check=False).stdout.splitlines():
            match = _ROUTE.match(line)
            if match:
                destination, source, gateway, interface = match.groups()
                self._found[source, destination] = (gateway or destination, interface)

    def queries(self, sockets):
        """Lines for ``ip -batch`` that all succeed once every one of ``sockets`` can be bound and every peer be reached.

        Of all peers behind one gateway, the first stands for the others.
        """
        self.look(sockets)
        chosen = {}
        for source, destination in sorted(_ways(sockets)):
            route = self._found[source, destination]
            if route:
                chosen.setdefault((source, *route), f"route get {destination} from {source}\n")
        return "".join(sorted(chosen.values()))

    def missing(self, sockets):
        """IPv4 addresses that sockets are bound to and the node does not have. For IPv6, CRIU itself needs none."""
        return {address for address in bound(sockets) if ":" not in address and not self._found.get((address, address))}

    def interfaces(self):
        """Names of the interfaces that the routes use, or that have the addresses."""
        # A local address is looked up as one on lo; its interface is that of the address table.
        names = {route[1] for route in self._found.values() if route} - {"lo"}
        return names | {self._owners[source] for source, _destination in self._found if source in self._owners}


def _ways(sockets):
    """(source, destination) of all that sockets need; of an address itself, both are the same."""
    return peers(sockets) | {(address, address) for address in bound(sockets)}


# "local 10.0.0.5 from 10.0.0.5 dev lo …", "10.9.0.1 from 10.0.0.5 via 10.0.0.1 dev ens3 …"
_ROUTE = re.compile(r"(?:[a-z]+ )?(\S+) from (\S+) (?:via (?:inet6 )?(\S+) )?dev (\S+)")


def _owners():
    """Of each address of the node, its interface: dict."""
    found = {}
    for line in run(["ip", "-oneline", "address", "show"]).stdout.splitlines():
        fields = line.split()
        # "2: ens3 inet 10.0.0.5/24 brd …", "4: tun0 inet 10.8.0.1 peer 10.8.0.2/32 …"
        if len(fields) > 3 and fields[2] in ("inet", "inet6") and not _loopback(fields[3]):
            found[fields[3].partition("/")[0]] = fields[1]
    return found


class Link:
    """An interface as it is now: ``name``, ``mac``, ``device``, ``modules`` of its drivers, ``commands`` for ``ip -batch``.

    ``device`` is the path of its device in /sys, where another interface has the same hardware address, and else ``-``: in a cloud, a
    virtual function has the address of the interface that it serves.
    """

    def __init__(self, name):
        self.name = name
        self.mac = read_text(f"/sys/class/net/{name}/address", "")
        device = os.path.realpath(f"/sys/class/net/{name}/device")
        self.device = device if _shared(self.mac) else "-"
        # Also the bus's drivers: it is udev that loads them, and that comes later.
        self.modules = sorted(drivers.chain(device))
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


def links(names):
    """The interfaces of these ``names``.

    :returns: list of `Link` for the plain ones, and whether that is all of them.
    """
    plain = sorted(filter(Link.plain, names))
    return [Link(name) for name in plain], len(plain) == len(names)


def _shared(mac):
    cards = (name for name in os.listdir("/sys/class/net") if os.path.exists(f"/sys/class/net/{name}/device"))
    return sum(read_text(f"/sys/class/net/{name}/address", "") == mac for name in cards) > 1


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
