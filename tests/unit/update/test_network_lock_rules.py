"""The rules of the network lock."""

from fakesockets import socket

from ansible_collections.kup.fleet.plugins.module_utils._criu import command
from ansible_collections.kup.fleet.plugins.module_utils._update import network_lock


def rules(*sockets):
    return [line.strip() for line in network_lock.ruleset(sockets).splitlines() if line.strip().endswith(" drop")]


def test_a_server_is_held_by_port_with_its_connections():
    held = rules(socket(), socket(remote="10.77.0.1:40000", state="01"))
    assert held == ["tcp dport 11211 drop", "tcp sport 11211 drop"]


def test_a_connection_to_elsewhere_is_held_by_both_ends():
    held = rules(socket(local="10.77.0.11:50000", remote="10.77.0.1:5432", state="01"))
    assert held == [
        "ip saddr 10.77.0.1 tcp sport 5432 ip daddr 10.77.0.11 tcp dport 50000 drop",
        "ip saddr 10.77.0.11 tcp sport 50000 ip daddr 10.77.0.1 tcp dport 5432 drop",
    ]


def test_a_server_on_both_families_is_one_rule():
    assert len(rules(socket(), socket("tcp6", "x:11211", "x:0", six=(bytes(16), bytes(16))))) == 2


def test_criu_s_own_packets_pass_before_anything_is_dropped():
    text = network_lock.ruleset([socket()])
    for chain in text.split("chain ")[1:]:
        assert chain.index(f"mark {command.SOCKET_MARK:#x} accept") < chain.index("drop")


def test_a_ruleset_replaces_the_one_before():
    assert network_lock.ruleset([]).startswith("table inet kup\ndelete table inet kup\ntable inet kup {")
