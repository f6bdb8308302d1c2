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
    """``rows``: all unix sockets; ``held``: unit → inodes; ``running``: units with a thread that runs; ``slept``: how often."""
    found = types.SimpleNamespace(rows=[], held={}, running=set(), slept=0, accepts=True)

    def tree(path):
        targets = [(number, f"socket:[{inode}]") for number, inode in enumerate(found.held.get(path, ()))]
        process = types.SimpleNamespace(
            descriptors=lambda: [*targets, (99, "/dev/null")], stopped=path not in found.running
        )
        return [process]

    def sleep(seconds):
        found.slept += 1
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


def test_a_tree_that_still_runs_is_waited_for(node):
    node.running = {"a"}
    freeze_order.await_stopped(checkpoints("a", "b"))
    assert node.slept == 1


@pytest.mark.parametrize(("waiting", "mine", "slept"), [(0, True, 0), (2, False, 0), (2, True, 1)])
def test_a_listener_may_accept_what_waits(node, waiting, mine, slept):
    node.rows, node.held = [listener(1, "/run/b", waiting=waiting)], {"b" if mine else "c": [1]}
    freeze_order.await_accepted(checkpoints("b"))
    assert node.slept == slept


def test_one_that_accepts_nothing_is_given_up(node, monkeypatch):
    times = iter(range(100))
    monkeypatch.setattr(freeze_order.time, "monotonic", lambda: next(times))
    node.rows, node.held, node.accepts = [listener(1, "/run/b", waiting=2)], {"b": [1]}, False
    freeze_order.await_accepted(checkpoints("b"))
    assert node.slept == 0
