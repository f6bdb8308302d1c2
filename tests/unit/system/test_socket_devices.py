"""Interfaces that sockets need whatever addresses they have, of this very process."""

import os
import socket

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system import processes, socket_devices

IGMP = """Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter
1\tlo        :     1      V3
\t\t\t\t010000E0     1 0:00000000\t\t0
2\tens3      :     2      V3
\t\t\t\t090909EF     1 0:00000000\t\t0
\t\t\t\t010000E0     1 0:00000000\t\t0
"""
IGMP6 = """1    lo              ff020000000000000000000000000001     1 0000000C 0
3    ens4            ff0200000000000000000001ff000001     1 00000004 0
3    ens4            ff0200000000000000000000000000fb     1 00000004 0
4    ens5            ff020000000000000000000000000001     1 0000000C 0
"""


@pytest.fixture
def rows(monkeypatch):
    texts = {"/proc/net/igmp": IGMP, "/proc/net/igmp6": IGMP6}
    monkeypatch.setattr(socket_devices, "_rows", lambda path: texts[path].splitlines())
    return texts


def mine():
    return socket_devices.of([processes.Process(os.getpid())])


def test_a_group_that_somebody_has_asked_for(rows):
    assert set(socket_devices._in_groups()) == {"ens3", "ens4"}


@pytest.mark.usefixtures("rows")
def test_devices_of_listeners_of_datagrams_and_of_packet_sockets():
    if os.getuid():
        pytest.skip("needs root")
    before = mine()
    made = []
    try:
        for kind, port in ((socket.SOCK_STREAM, 0), (socket.SOCK_DGRAM, 0)):
            made.append(socket.socket(socket.AF_INET, kind))
            made[-1].setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
            made[-1].bind(("", port))
        made[0].listen(1)
        assert "lo" not in before.bound
        found = mine()
        assert "lo" in found.bound
        # A datagram may be one of a group's.
        assert found.groups == {"ens3", "ens4"}
        for each in made:
            each.close()
        made = [socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)]
        made[0].bind(("lo", 0))
        assert "lo" in mine().bound
    finally:
        for each in made:
            each.close()
