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


def test_new_clients_of_a_server_wait_as_well():
    found = rules([socket(("0.0.0.0", 80), listening=True), socket(("10.0.0.1", 80), ("10.0.0.2", 4000))])
    assert [rule for rule in found if rule.endswith("drop")] == ["tcp dport 80 drop", "tcp sport 80 drop"]


def test_a_connection_to_elsewhere_is_held_by_both_ends():
    found = rules([socket(("10.0.0.1", 4000), ("10.0.0.2", 5432)), socket(("fe80::1", 4001), ("fe80::2", 53), "udp6")])
    assert "ip saddr 10.0.0.2 tcp sport 5432 ip daddr 10.0.0.1 tcp dport 4000 drop" in found
    assert "ip saddr 10.0.0.1 tcp sport 4000 ip daddr 10.0.0.2 tcp dport 5432 drop" in found
    assert "ip6 saddr fe80::2 udp sport 53 ip6 daddr fe80::1 udp dport 4001 drop" in found


def test_packets_of_criu_itself_pass_before_anything_is_dropped():
    found = rules([socket(("0.0.0.0", 80), listening=True)])
    assert found.count("meta mark 0xc114 accept") == 2
    assert found.index("meta mark 0xc114 accept") < found.index("tcp dport 80 drop")


def test_the_table_is_replaced_as_a_whole():
    found = rules([])
    assert found[:3] == ["table inet kup", "delete table inet kup", "table inet kup {"]
    assert sum("priority -200" in rule for rule in found) == 2


def test_it_is_applied_and_released(monkeypatch):
    called = []
    monkeypatch.setattr(network_lock, "run", lambda argv, **options: called.append((argv, options)))
    network_lock.apply("rules")
    network_lock.release()
    assert called == [
        (["nft", "-f", "-"], {"stdin": "rules"}),
        (["nft", "delete", "table", "inet", "kup"], {"check": False}),
    ]
