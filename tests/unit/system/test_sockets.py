"""Sockets of a process, from /proc/net."""

import os
import socket as real
import types

import pytest
from fakesockets import socket

from ansible_collections.kup.fleet.plugins.module_utils._system import sockets as inet_sockets

HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"


def test_a_listener():
    listener = socket()
    assert (listener.local, listener.inode) == (("127.0.0.1", 11211), 7)
    assert listener.listening
    assert not listener.connected


def test_a_connection():
    connection = socket(remote="10.77.0.1:40000", state="01")
    assert connection.remote == ("10.77.0.1", 40000)
    assert connection.connected
    assert not connection.listening


@pytest.mark.parametrize("state", ["04", "05", "08"])
def test_a_connection_that_is_closing_has_still_a_peer(state):
    assert socket(remote="10.77.0.1:40000", state=state).connected


def test_addresses_of_ipv6_and_ipv4_in_ipv6():
    loopback = bytes(15) + b"\1"
    mapped = bytes(10) + b"\xff\xff" + bytes([10, 77, 0, 1])
    found = socket("tcp6", "x:11211", "x:40000", "01", six=(loopback, mapped))
    assert (found.local, found.remote) == (("::1", 11211), ("10.77.0.1", 40000))


def test_datagram_sockets():
    assert socket("udp", state="07").listening
    assert not socket("udp", local="127.0.0.1:0", state="07").listening


def test_only_sockets_of_the_process_are_its_own(tmp_path):
    (tmp_path / "net").mkdir()
    row = "0: 0100007F:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 %d 1"
    (tmp_path / "net" / "tcp").write_text("\n".join([HEADER, row % 11, row % 12, ""]))
    assert [found.inode for found in inet_sockets.Tables().of(process(tmp_path, 12, 12))] == [12]


def process(path, *inodes, namespace="net:[1]"):
    held = [(3 + number, f"socket:[{inode}]") for number, inode in enumerate(inodes)]
    return types.SimpleNamespace(
        path=str(path), descriptors=lambda: [*held, (99, "/dev/null")], namespace=lambda kind: namespace
    )


def test_a_table_is_read_once_for_each_network_namespace(tmp_path, monkeypatch):
    read = []
    monkeypatch.setattr(inet_sockets, "read_lines", lambda path: read.append(path) or [HEADER])
    inet_sockets.of_processes([process(tmp_path, 1), process(tmp_path, 2), process(tmp_path, 3, namespace="net:[2]")])
    assert len(read) == 2 * len(inet_sockets.TABLES)


def test_what_the_kernel_lists_at_the_end_of_a_table_that_changes_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(inet_sockets, "read_lines", lambda path: [HEADER, "0: 0100007F:2BCB 0000", ""])
    assert inet_sockets.of_processes([process(tmp_path, 12)]) == []


@pytest.mark.parametrize("family", [real.AF_INET, real.AF_INET6])
def test_connections_that_wait_at_a_listener(family):
    with real.socket(family) as listener, real.socket(family) as other, real.socket(family) as client:
        for each in (listener, other):
            each.bind(("::1" if family == real.AF_INET6 else "127.0.0.1", 0))
            each.listen()
        here, there = ({os.fstat(each.fileno()).st_ino} for each in (listener, other))
        assert not inet_sockets.waiting(here)
        client.connect(listener.getsockname())
        assert inet_sockets.waiting(here)
        assert not inet_sockets.waiting(there)
        listener.accept()[0].close()
        assert not inet_sockets.waiting(here)


def test_listeners_are_found_without_a_look_at_all_connections(tmp_path):
    row = "0: 0100007F:2BCB 00000000:0000 %s 00000000:00000001 00:00000000 00000000 0 0 7 1\n"
    (tmp_path / "tcp").write_text("sl\n" + row % "01" + row % "0A")
    assert not inet_sockets._waits(str(tmp_path / "tcp"), {7})
    (tmp_path / "tcp").write_text("sl\n" + row % "0A" + row % "01")
    assert inet_sockets._waits(str(tmp_path / "tcp"), {7})
    assert not inet_sockets._waits(str(tmp_path / "none"), {7})
