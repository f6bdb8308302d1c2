# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The addresses and routes that saved connections need, so that the next boot has them before udev and a network manager.

A network manager starts seconds later, finds the same addresses on the same interface and takes them over. It alone sets up
bonds, VLANs and bridges; a restore that needs one waits for it.
"""

from __future__ import annotations

import functools
import json
import os
import re

from .._files import read_text
from .._run import run
from . import drivers

_WILDCARDS = ("0.0.0.0", "::")
# How the kernel makes the link-local address of an interface, unless somebody says otherwise.
_USUAL_MODE = "eui64"
# Seconds: what was given for a time lasts as long, at least, that an update takes until somebody renews it.
_RENEWAL = 600
_FOR_EVER = 2**32 - 1
# Kinds that have nothing but a name, so that they can be made again whoever has made them.
_MADE = ("dummy",)
# Worse than those of the kernel (1024) and of networkd.
_BRIDGE_METRIC = 2048


def peers(sockets):
    """(local, remote) addresses of all connections that leave the node."""
    return {(s.local[0], s.remote[0]) for s in sockets if s.connected and not _loopback(s.local[0])}


def bound(sockets):
    """Addresses of this node that sockets are bound to, without wildcards and loopback."""
    return {s.local[0] for s in sockets if s.local[0] not in _WILDCARDS and not _loopback(s.local[0])}


class Reach:
    """How the peers and the own addresses of sockets are reached at present.

    What is not reached at present – a connection whose address has moved to another node, a socket that is bound to an address which
    is not there (IP_FREEBIND) – is nothing that the next boot could wait for.
    """

    def __init__(self, devices=None):
        """
        :param devices: interfaces that the sockets need whatever their addresses are (`socket_devices.Devices`).
        """
        #: names of interfaces, lines for the boot plan: without them no socket can be bound
        self.devices = "".join(f"{name}\n" for name in sorted(devices.bound)) if devices else ""
        # What has no hardware is not waited for because of a group.
        self._more = {*devices.bound, *filter(Link.plain, devices.groups)} - {"lo"} if devices else set()
        # (source, destination) → (gateway or destination, interface), or None: asked once, because the second time is in the freeze.
        self._found = {}
        self._owners = _owners()
        self._listens_everywhere = False

    def look(self, sockets):
        """Ask for all that has not been asked yet, by one process."""
        self._listens_everywhere |= any(each.listening and each.local[0] in _WILDCARDS for each in sockets)
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

    @functools.cached_property
    def _cards(self):
        # Asked once, because the second time is in the freeze.
        return {name for name in set(self._owners.values()) if Link.plain(name)} - {"lo"}

    def interfaces(self):
        """Names of the interfaces that the routes use, that have the addresses, or that sockets need in another way."""
        # A local address is looked up as one on lo; its interface is that of the address table.
        names = {route[1] for route in self._found.values() if route} - {"lo"} | self._more
        if self._listens_everywhere:
            # Whoever comes next may come by any of them.
            names |= self._cards
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
    """An interface as it is now: ``name``, ``mac``, ``device``, ``modules`` of its drivers, ``commands`` for ``ip -batch``, and whether
    it is no card (``cardless``).

    ``mac`` is the address that the hardware has, by which the next boot finds it; what somebody has set instead is set again.
    ``device`` is the path of its device in /sys, where another interface has the same hardware address, and else ``-``: in a cloud, a
    virtual function has the address of the interface that it serves.
    """

    def __init__(self, name):
        self.name = name
        told = _asked("link", "show", "dev", name)
        self.cardless = _cardless(told)
        self.mac = told.get("permaddr") or read_text(f"/sys/class/net/{name}/address", "")
        device = os.path.realpath(f"/sys/class/net/{name}/device")
        self.device = device if _shared(self.mac) else "-"
        # Also the bus's drivers: it is udev that loads them, and that comes later.
        self.modules = sorted(drivers.chain(device))
        # A network manager that has to change one of these takes the interface down: its routes go, and a real card needs seconds to find
        # its peer again (src/network/networkd-setlink.c of systemd).
        self.commands = (
            [f"link add {name} address {told['address']} type {_kind(told)}"] if _kind(told) in _MADE else []
        )
        self.commands += [f"link set dev {name} {word} {value}" for word, value in _before_up(told)]
        self.commands += [f"link set dev {name} mtu {read_text(f'/sys/class/net/{name}/mtu')} up"]
        self.commands += [f"address replace {address} dev {name}" for address in _addresses(name)]
        # First what is reached directly, gateways among it.
        routes = sorted(_routes(name), key=lambda route: " via " in f" {route}")
        self.commands += [f"route replace {route} dev {name}" for route in routes]

    @staticmethod
    def plain(name):
        """A card of its own, or an interface that needs none: no part of a bond or bridge, nothing on top of another interface."""
        path = f"/sys/class/net/{name}"
        if os.path.exists(f"{path}/master"):
            return False
        return os.path.exists(f"{path}/device") or _cardless(_asked("link", "show", "dev", name))


def links(names):
    """The interfaces of these ``names``.

    :returns: list of `Link` for the plain ones, and whether that is all of them.
    """
    plain = sorted(filter(Link.plain, names))
    return [Link(name) for name in plain], len(plain) == len(names)


def _shared(mac):
    cards = (name for name in os.listdir("/sys/class/net") if os.path.exists(f"/sys/class/net/{name}/device"))
    return sum(read_text(f"/sys/class/net/{name}/address", "") == mac for name in cards) > 1


def _asked(*words):
    """What ``ip`` tells of one interface: a dict, of the keys of its JSON."""
    said = run(["ip", "-json", "-details", *words], check=False).stdout
    try:
        return json.loads(said)[0]
    except (ValueError, LookupError):
        return {}


def _kind(told):
    """What kind of interface it is that has no hardware, empty for a card."""
    return told.get("linkinfo", {}).get("info_kind", "")


def _cardless(told):
    """Whether it is the loopback interface, or one that can be made again."""
    return told.get("link_type") == "loopback" or _kind(told) in _MADE


def _before_up(told):
    """Settings that an interface has to have before it is up: (word of ``ip link set``, value)."""
    if "permaddr" in told:
        yield "address", told["address"]
    mode = told.get("inet6_addr_gen_mode", _USUAL_MODE)
    if mode != _USUAL_MODE:
        yield "addrgenmode", mode


def _addresses(name):
    """Addresses of an interface as words of ``ip address replace``."""
    for about in _asked("address", "show", "dev", name, "scope", "global").get("addr_info", []):
        if "local" not in about:  # of another scope, of which it tells nothing
            continue
        # Of a pair, the other's address comes second.
        peer = f" peer {about['address']}" if "address" in about else ""
        yield " ".join([f"{about['local']}{peer}/{about['prefixlen']}", *_manner(about)])


def _manner(about):
    """What else an address has. One that was given for a time keeps a time: a client of DHCP, or the kernel, renews it."""
    if about["family"] == "inet":
        yield f"brd {about['broadcast']}" if "broadcast" in about else "brd +"
    else:
        yield "nodad"  # duplicate address detection is for newcomers
    yield from (flag for flag in ("mngtmpaddr", "noprefixroute", "home") if about.get(flag))
    valid, preferred = (about.get(f"{kind}_life_time", _FOR_EVER) for kind in ("valid", "preferred"))
    if valid != _FOR_EVER:
        yield f"valid_lft {max(valid, _RENEWAL)} preferred_lft {max(preferred, _RENEWAL) if preferred else 0}"


def _routes(name):
    """Routes of an interface as words of ``ip route replace``."""
    for family in ("-4", "-6"):
        for line in run(["ip", family, "route", "show", "dev", name]).stdout.splitlines():
            if "proto kernel" not in line:
                yield _lasting(re.sub(r" (linkdown|dead)\b", "", line).strip())


def _lasting(route):
    """A route that a router has announced bridges the time to the next announcement, beside which it must not be a rival: the kernel gives a
    whole announcement up whose route is there already and not of its own making (net/ipv6/ndisc.c, ndisc_router_discovery()).
    """
    if " proto ra " not in f"{route} " or " expires " not in route:
        return re.sub(r" expires (\d+)sec", r" expires \1", route)
    route = re.sub(r" (metric|expires) \S+", "", route)
    return f"{route} metric {_BRIDGE_METRIC} expires {_RENEWAL}"


def _loopback(address):
    return address == "::1" or address.startswith("127.")
