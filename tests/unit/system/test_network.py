"""Network links, as the next boot makes them."""

import subprocess
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system import network, socket_devices


def test_a_gateway_is_reached_before_what_is_behind_it(monkeypatch):
    monkeypatch.setattr(network, "read_text", lambda *arguments: "1500")
    monkeypatch.setattr(network, "_asked", lambda *words: {})
    monkeypatch.setattr(network, "_addresses", lambda name: [])
    monkeypatch.setattr(network, "_routes", lambda name: ["default via 10.0.0.1", "10.0.0.1 scope link"])
    routes = [command for command in network.Link("ens3").commands if command.startswith("route")]
    assert routes == ["route replace 10.0.0.1 scope link dev ens3", "route replace default via 10.0.0.1 dev ens3"]


class Sockets:
    """Sockets of a node that has 10.0.0.5 on ens3 and 10.0.0.9 on lo, and a gateway."""

    ADDRESSES = """1: lo    inet 127.0.0.1/8 scope host lo
1: lo    inet 10.0.0.9/32 scope global lo
2: ens3    inet 10.0.0.5/24 brd 10.0.0.255 scope global ens3
3: tun0    inet 10.8.0.1 peer 10.8.0.2/32 scope global tun0
2: ens3    inet6 fd00::5/64 scope global
"""
    ROUTES = """10.0.0.7 from 10.0.0.5 dev ens3 uid 0
9.9.9.9 from 10.0.0.5 via 10.0.0.1 dev ens3 uid 0
9.9.9.8 from 10.0.0.5 via 10.0.0.1 dev ens3 uid 0
local 10.0.0.5 from 10.0.0.5 dev lo uid 0
local 10.0.0.9 from 10.0.0.9 dev lo uid 0
local fd00::5 from fd00::5 dev lo table local
2001::9 from fd00::5 via fd00::1 dev ens3 src fd00::5
"""

    def __init__(self, monkeypatch):
        self.asked = []
        monkeypatch.setattr(network, "run", self._run)

    def _run(self, argv, stdin=None, check=True):
        if "address" in argv:
            return types.SimpleNamespace(stdout=self.ADDRESSES)
        self.asked.append(stdin.splitlines())
        wanted = [line.split() for line in self.asked[-1]]
        found = [
            line
            for line in self.ROUTES.splitlines()
            for _route, _get, to, _from, source in wanted
            if f"{to} from {source} " in f" {line}"
        ]
        return types.SimpleNamespace(stdout="\n".join(found))


def bound(address):
    return types.SimpleNamespace(local=(address, 80), remote=("0.0.0.0", 0), connected=False, listening=True)


def connected(local, remote):
    return types.SimpleNamespace(local=(local, 80), remote=(remote, 4000), connected=True, listening=False)


@pytest.fixture
def sockets(monkeypatch):
    return Sockets(monkeypatch)


def test_all_peers_are_asked_for_at_once_and_only_once(sockets):
    reach = network.Reach()
    several = [connected("10.0.0.5", "9.9.9.9"), connected("10.0.0.5", "10.0.0.7"), connected("127.0.0.1", "127.0.0.1")]
    reach.look(several)
    reach.look([*several, connected("10.0.0.5", "9.9.9.8")])
    assert [len(lines) for lines in sockets.asked] == [3, 1]


def test_a_peer_stands_for_all_behind_the_same_gateway(sockets):
    several = [connected("10.0.0.5", peer) for peer in ("9.9.9.9", "9.9.9.8", "10.0.0.7")]
    assert network.Reach().queries([*several, connected("fd00::5", "2001::9")]).splitlines() == [
        "route get 10.0.0.5 from 10.0.0.5",
        "route get 10.0.0.7 from 10.0.0.5",
        "route get 2001::9 from fd00::5",
        "route get 9.9.9.8 from 10.0.0.5",
        "route get fd00::5 from fd00::5",
    ]
    assert len(sockets.asked) == 1


def test_no_restore_waits_for_what_is_not_there_now(sockets):
    reach = network.Reach()
    wanted = [bound("192.0.2.55"), bound("10.0.0.9"), bound("fe80::7"), connected("10.0.0.5", "172.16.0.1")]
    assert reach.queries(wanted).splitlines() == [
        "route get 10.0.0.5 from 10.0.0.5",
        "route get 10.0.0.9 from 10.0.0.9",
    ]
    assert reach.missing(wanted) == {"192.0.2.55"}


def test_the_plan_has_only_what_its_own_sockets_need(sockets):
    reach = network.Reach()
    reach.look([connected("10.0.0.5", "9.9.9.9")])
    assert reach.queries([bound("10.0.0.9")]) == "route get 10.0.0.9 from 10.0.0.9\n"


def test_interfaces_of_routes_and_of_addresses(sockets):
    reach = network.Reach()
    reach.look([connected("10.0.0.5", "9.9.9.9")])
    assert reach.interfaces() == {"ens3"}
    reach.look([bound("10.0.0.9"), bound("10.8.0.1"), bound("192.0.2.55")])
    assert reach.interfaces() == {"ens3", "lo", "tun0"}


@pytest.mark.parametrize(("second", "device"), [("52:54:00:00:00:02", "-"), ("52:54:00:00:00:01", "/sys/devices/ens3")])
def test_the_device_tells_interfaces_with_one_address_apart(monkeypatch, second, device):
    addresses = {"ens3": "52:54:00:00:00:01", "vf0": second}
    monkeypatch.setattr(network, "read_text", lambda path, default="": addresses[path.split("/")[4]])
    monkeypatch.setattr(network.os, "listdir", lambda path: [*addresses, "lo"])
    monkeypatch.setattr(network.os.path, "exists", lambda path: "/lo/" not in path)
    monkeypatch.setattr(network.os.path, "realpath", lambda path: f"/sys/devices/{path.split('/')[4]}")
    monkeypatch.setattr(network.drivers, "chain", lambda path: {"virtio_net"})
    monkeypatch.setattr(network, "_addresses", lambda name: [])
    monkeypatch.setattr(network, "_routes", lambda name: [])
    monkeypatch.setattr(network, "_asked", lambda *words: {})
    assert network.Link("ens3").device == device


def test_the_addresses_keep_what_they_have(monkeypatch):
    told = {
        "addr_info": [
            {},
            {"family": "inet", "local": "10.0.0.5", "prefixlen": 24, "broadcast": "10.0.0.255", "valid_life_time": 2**32 - 1},
            {"family": "inet", "local": "10.0.0.6", "prefixlen": 24, "valid_life_time": 3000, "preferred_life_time": 20},
            {"family": "inet", "local": "10.8.0.1", "address": "10.8.0.2", "prefixlen": 32},
            {"family": "inet6", "local": "fd00::5", "prefixlen": 64, "mngtmpaddr": True, "valid_life_time": 7000, "preferred_life_time": 5000},
            {"family": "inet6", "local": "fd00::6", "prefixlen": 64, "deprecated": True, "valid_life_time": 90, "preferred_life_time": 0},
        ]
    }  # fmt: skip
    monkeypatch.setattr(network, "_asked", lambda *words: told)
    assert list(network._addresses("ens3")) == [
        "10.0.0.5/24 brd 10.0.0.255",
        "10.0.0.6/24 brd + valid_lft 3000 preferred_lft 600",
        "10.8.0.1 peer 10.8.0.2/32 brd +",
        "fd00::5/64 nodad mngtmpaddr valid_lft 7000 preferred_lft 5000",
        "fd00::6/64 nodad valid_lft 600 preferred_lft 0",
    ]


@pytest.mark.parametrize(
    ("route", "lasting"),
    [
        ("default via 10.0.0.1 proto dhcp src 10.0.0.5 metric 100", None),
        (
            "default via fe80::1 proto ra metric 1024 expires 1799sec hoplimit 64 pref medium",
            "default via fe80::1 proto ra hoplimit 64 pref medium metric 2048 expires 600",
        ),
        ("fd00:7::/64 proto static metric 1024 expires 50sec pref medium", "fd00:7::/64 proto static metric 1024 expires 50 pref medium"),
        ("default via fe80::1 proto ra metric 512 pref medium", None),
    ],
)  # fmt: skip
def test_an_announced_route_is_no_rival_of_the_next_announcement(route, lasting):
    assert network._lasting(route) == (lasting or route)


def test_an_interface_is_as_it_was_before_it_is_up(monkeypatch):
    told = {"address": "02:00:00:00:00:07", "permaddr": "52:54:00:00:00:01", "inet6_addr_gen_mode": "none"}
    monkeypatch.setattr(network, "_asked", lambda *words: told if "link" in words else {})
    monkeypatch.setattr(network, "_routes", lambda name: [])
    monkeypatch.setattr(network, "read_text", lambda *arguments: "1500")
    link = network.Link("ens3")
    assert link.mac == "52:54:00:00:00:01"
    assert link.commands == [
        "link set dev ens3 address 02:00:00:00:00:07",
        "link set dev ens3 addrgenmode none",
        "link set dev ens3 mtu 1500 up",
    ]


def test_what_is_said_is_understood_by_ip(tmp_path):
    """In a network namespace: an address with a time, a pair, a route that expires."""
    lines = ["link add any0 type bridge", "link set dev any0 addrgenmode none", "link set dev any0 mtu 1400 up"]
    lines += [
        f"address replace {words} dev any0"
        for words in ("10.0.0.6/24 brd + valid_lft 3000 preferred_lft 600", "10.8.0.1 peer 10.8.0.2/32 brd +",
                      "fd00::5/64 nodad mngtmpaddr valid_lft 7000 preferred_lft 5000", "fd00::6/64 nodad valid_lft 600 preferred_lft 0")
    ]  # fmt: skip
    lines.append("route replace default via fd00::1 proto ra hoplimit 64 pref medium metric 2048 expires 600 dev any0")
    batch = tmp_path / "batch"
    batch.write_text("".join(f"{line}\n" for line in lines))
    done = subprocess.run(["unshare", "--net", "ip", "-batch", batch], capture_output=True, text=True, check=False)
    if "unshare failed" in done.stderr:
        pytest.skip("needs root")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interface_of_no_hardware_is_made(monkeypatch):
    told = {"address": "02:00:00:00:00:07", "linkinfo": {"info_kind": "dummy"}}
    monkeypatch.setattr(network, "_asked", lambda *words: told if "link" in words else {})
    monkeypatch.setattr(network, "_routes", lambda name: [])
    monkeypatch.setattr(network, "read_text", lambda *arguments: "1500")
    monkeypatch.setattr(network.os.path, "exists", lambda path: "ens3" in path and "master" not in path)
    made, complete = network.links({"any0"})
    assert complete
    assert [link.cardless for link in made] == [True]
    assert made[0].commands == [
        "link add any0 address 02:00:00:00:00:07 type dummy",
        "link set dev any0 mtu 1500 up",
    ]
    told["linkinfo"], told["link_type"] = {}, "loopback"
    assert network.links({"any0"})[0][0].commands == ["link set dev any0 mtu 1500 up"]
    told["link_type"] = "ether"
    told["linkinfo"] = {"info_kind": "bond"}
    assert network.links({"any0"}) == ([], False)


def test_interfaces_that_sockets_need_without_an_address(sockets, monkeypatch):
    monkeypatch.setattr(network.Link, "plain", staticmethod(lambda name: name.startswith("ens")))
    devices = socket_devices.Devices(frozenset({"ens7", "vrf1", "lo"}), frozenset({"ens8", "br0"}))
    reach = network.Reach(devices)
    assert reach.devices == "ens7\nlo\nvrf1\n"
    # A bridge is not waited for because of a group.
    assert reach.interfaces() == {"ens7", "vrf1", "ens8"}


def test_who_listens_everywhere_needs_each_card_that_has_an_address(sockets, monkeypatch):
    monkeypatch.setattr(network.Link, "plain", staticmethod(lambda name: name.startswith("ens")))
    reach = network.Reach()
    reach.look([bound("10.0.0.9")])
    assert reach.interfaces() == {"lo"}
    reach.look([bound("0.0.0.0")])
    # Not tun0: it is no card.
    assert reach.interfaces() == {"lo", "ens3"}
