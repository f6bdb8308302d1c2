# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the network lock drops, and what it lets pass."""

import types

from ansible_collections.kup.fleet.plugins.module_utils._update import network_lock


def socket(local, remote=("0.0.0.0", 0), protocol="tcp", listening=False):
    return types.SimpleNamespace(
        protocol=protocol, local=local, remote=remote, listening=listening, connected=remote[1] != 0
    )


def rules(sockets):
    return [line.strip() for line in network_lock.ruleset(sockets).splitlines()]


def drops(sockets):
    return [rule for rule in rules(sockets) if rule.endswith(" drop")]


def test_new_clients_of_a_server_wait_as_well():
    found = [socket(("0.0.0.0", 80), listening=True), socket(("10.0.0.1", 80), ("10.0.0.2", 4000))]
    assert drops(found) == ["tcp dport @tcp_ports drop", "tcp sport @tcp_ports drop"]
    assert "elements = { 80 }" in rules(found)


def test_a_connection_to_elsewhere_is_held_by_both_ends():
    found = [socket(("10.0.0.1", 4000), ("10.0.0.2", 5432)), socket(("fe80::1", 4001), ("fe80::2", 53), "udp6")]
    assert "elements = { 10.0.0.1 . 4000 . 10.0.0.2 . 5432 }" in rules(found)
    assert "elements = { fe80::1 . 4001 . fe80::2 . 53 }" in rules(found)
    assert drops(found) == [
        "ip daddr . tcp dport . ip saddr . tcp sport @ip_tcp drop",
        "ip6 daddr . udp dport . ip6 saddr . udp sport @ip6_udp drop",
        "ip saddr . tcp sport . ip daddr . tcp dport @ip_tcp drop",
        "ip6 saddr . udp sport . ip6 daddr . udp dport @ip6_udp drop",
    ]


def test_ten_thousand_connections_are_two_rules():
    found = [socket(("10.0.0.1", 1024 + number), ("10.0.0.2", 5432)) for number in range(10_000)]
    assert len(drops(found)) == 2


def test_a_port_of_one_protocol_is_not_held_for_another():
    found = [
        socket(("0.0.0.0", 53), protocol="udplite", listening=True),
        socket(("10.0.0.1", 53), ("10.0.0.2", 9), "udp"),
    ]
    assert "udplite dport @udplite_ports drop" in drops(found)
    assert "elements = { 10.0.0.1 . 53 . 10.0.0.2 . 9 }" in rules(found)


def test_packets_of_a_control_group_are_held_whatever_connection_they_belong_to():
    text = network_lock.ruleset([], ["/system.slice/a@b\\x2dc.service"])
    (rule,) = {line.strip() for line in text.splitlines() if line.endswith(" drop")}
    assert rule == 'socket cgroupv2 level 2 "system.slice/a@b\\x2dc.service" drop'
    # In both directions, and behind what CRIU itself sends.
    assert text.count(rule) == 2
    assert text.index("meta mark") < text.index(rule)
    assert "cgroup" not in network_lock.held_ruleset([])


def test_peers_wait_whose_segments_say_that_there_is_no_room():
    found = [
        ("192.0.2.1", 80, "192.0.2.2", 4001),
        ("192.0.2.1", 80, "192.0.2.2", 4002),
        ("fe80::1", 80, "fe80::2", 4001),
    ]
    lines = [line.strip() for line in network_lock.waiting_ruleset(found).splitlines()]
    assert [line for line in lines if "window" in line] == [
        "ip saddr . tcp sport . ip daddr . tcp dport @ip_tcp tcp window set 0",
        "ip6 saddr . tcp sport . ip6 daddr . tcp dport @ip6_tcp tcp window set 0",
    ]
    assert "elements = { 192.0.2.1 . 80 . 192.0.2.2 . 4001, 192.0.2.1 . 80 . 192.0.2.2 . 4002 }" in lines
    assert not [line for line in lines if "input" in line or "drop" in line]


def test_a_raw_socket_has_no_ports():
    assert drops([socket(("0.0.0.0", 1), protocol="raw6", listening=True)]) == []


def test_packets_of_criu_itself_pass_before_anything_is_dropped():
    found = rules([socket(("0.0.0.0", 80), listening=True)])
    assert found.count("meta mark 0xc114 accept") == 2
    assert found.index("meta mark 0xc114 accept") < found.index("tcp dport @tcp_ports drop")


def test_an_acknowledgement_without_data_passes_outward_only():
    incoming, outgoing = network_lock.ruleset([socket(("0.0.0.0", 80), listening=True)]).split("chain ")[1:]
    assert "flags == ack" not in incoming
    assert outgoing.index("tcp flags == ack meta length < 81 accept") < outgoing.index("drop")


def test_the_table_is_replaced_as_a_whole():
    found = rules([])
    assert found[:3] == ["table inet kup", "delete table inet kup", "table inet kup {"]
    assert sum("priority -200" in rule for rule in found) == 2


def test_the_second_table_has_the_same_content_and_an_owner():
    sockets = [socket(("0.0.0.0", 80), listening=True)]
    first, second = rules(sockets), [line.strip() for line in network_lock.held_ruleset(sockets).splitlines()]
    assert second[:2] == ["table inet kup_held {", "flags owner"]
    assert second[2:] == first[3:]


def test_it_is_applied_and_released(monkeypatch):
    called = []
    monkeypatch.setattr(network_lock, "run", lambda argv, **options: called.append((argv, options)))
    network_lock.apply("rules")
    network_lock.release()
    assert called == [
        (["nft", "-f", "-"], {"stdin": "rules", "timeout": 60}),
        (["nft", "delete", "table", "inet", "kup"], {"check": False}),
    ]
