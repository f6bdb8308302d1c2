# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who is frozen first: clients of unix sockets before their servers."""

import socket
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system.unix_sockets import UnixSocket
from ansible_collections.kup.fleet.plugins.module_utils._update import freeze_order


@pytest.fixture
def node(monkeypatch):
    """``rows``: all unix sockets; ``held``: unit → inodes; ``running``: units with a thread that runs; ``done``: what happened."""
    found = types.SimpleNamespace(rows=[], held={}, running=set(), done=[], accepts=True, runs_on=False)

    def tree(path):
        targets = [(number, f"socket:[{inode}]") for number, inode in enumerate(found.held.get(path, ()))]
        process = types.SimpleNamespace(
            descriptors=lambda: [*targets, (99, "/dev/null")], stopped=path not in found.running
        )
        return [process]

    def sleep(seconds):
        found.done.append("slept")
        found.running.clear()
        if found.accepts:
            found.rows = []

    monkeypatch.setattr(freeze_order.processes, "in_cgroup", tree)
    monkeypatch.setattr(freeze_order.unix_sockets, "table", lambda: {each.inode: each for each in found.rows})
    monkeypatch.setattr(freeze_order.time, "sleep", sleep)
    return found


def checkpoints(*names):
    return [types.SimpleNamespace(unit=types.SimpleNamespace(name=name, cgroup=name)) for name in names]


def order(*names):
    return [[each.unit.name for each in group] for group in freeze_order.groups(checkpoints(*names))]


def listener(inode, path, **more):
    return UnixSocket(path, inode, listening=True, **more)


def connect(node, client, server, path, inodes):
    """A connection of unit ``client`` to ``server``, which has accepted it."""
    near, far = inodes
    node.rows += [UnixSocket("", near, far), UnixSocket(path, far, near)]
    node.held.setdefault(client, []).append(near)
    node.held.setdefault(server, []).append(far)


def test_one_unit_and_units_without_sockets_are_frozen_at_once(node):
    assert order("a") == [["a"]]
    assert order("a", "b") == [["a", "b"]]


def test_who_listens_comes_last(node):
    node.rows, node.held = [listener(1, "/run/b")], {"b": [1]}
    assert order("b", "a", "c") == [["a", "c"], ["b"]]


def test_a_chain_is_frozen_from_its_client_on(node):
    for number, name in enumerate(("web", "php", "db")):
        node.rows.append(listener(number, f"/run/{name}"))
        node.held[name] = [number]
    connect(node, "web", "php", "/run/php", (11, 12))
    connect(node, "php", "db", "/run/db", (13, 14))
    assert order("db", "php", "web") == [["web"], ["php"], ["db"]]


def test_a_circle_has_an_order(node):
    for number, name in enumerate(("a", "b")):
        node.rows.append(listener(number, f"/run/{name}"))
        node.held[name] = [number]
    connect(node, "a", "b", "/run/b", (11, 12))
    connect(node, "b", "a", "/run/a", (13, 14))
    assert sorted(sum(order("a", "b"), [])) == ["a", "b"]


def test_a_listener_for_datagrams_and_a_connection_within_a_unit_are_no_reason(node):
    node.rows, node.held = [UnixSocket("/run/b", 1, type=socket.SOCK_DGRAM)], {"b": [1]}
    connect(node, "a", "a", "", (11, 12))
    assert order("a", "b") == [["a", "b"]]


def groups(node, *names):
    """A list of one checkpoint for each name, whose unit notes what is done to it."""

    def unit(name):
        return types.SimpleNamespace(
            name=name,
            cgroup=name,
            freeze=lambda: node.done.append(f"freeze {name}"),
            thaw=lambda: node.done.append(f"thaw {name}"),
            frozen=not node.runs_on,
        )

    return [[types.SimpleNamespace(unit=unit(name))] for name in names]


def test_clients_are_held_until_the_servers_have_accepted(node):
    node.rows, node.held = [listener(1, "/run/c", waiting=2)], {"c": [1]}
    held = groups(node, "a", "b", "c")
    freeze_order.hold(held)
    assert node.done == ["freeze a", "slept", "freeze b"]


def test_one_group_is_held_by_criu_alone(node):
    held = groups(node, "a")
    freeze_order.hold(held)
    freeze_order.release(held)
    assert node.done == []


def test_they_may_run_when_criu_has_stopped_them(node):
    held = groups(node, "a", "b")
    node.running = {"a", "b"}
    freeze_order.release(held)
    assert node.done == ["slept", "thaw a"]


def test_what_waits_elsewhere_is_of_no_account(node):
    node.rows, node.held = [listener(1, "/run/x", waiting=2)], {}
    freeze_order.hold(groups(node, "a", "b"))
    assert node.done == ["freeze a"]


@pytest.mark.parametrize(("runs_on", "accepts"), [(True, True), (False, False)])
def test_nobody_is_waited_for_for_ever(node, monkeypatch, runs_on, accepts):
    times = iter(range(0, 1000, 3))
    monkeypatch.setattr(freeze_order.time, "monotonic", lambda: next(times))
    node.rows, node.held, node.accepts = [listener(1, "/run/b", waiting=2)], {"b": [1]}, accepts
    node.runs_on = runs_on
    freeze_order.hold(groups(node, "a", "b"))
    assert node.done[0] == "freeze a"
    assert node.done.count("slept") <= 2
