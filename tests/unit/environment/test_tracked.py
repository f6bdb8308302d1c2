"""Connections that connection tracking treats in a way of its own."""

import os
import pathlib
import random
import subprocess
import sys
from types import SimpleNamespace

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._environment import tracked
from ansible_collections.kup.fleet.plugins.module_utils._system import conntrack, netlink

SCRIPT = pathlib.Path(__file__).with_name("redirected.py")
OWN_NETWORK = ["unshare", "--net", sys.executable, str(SCRIPT)]


def has_tracking():
    probe = ["unshare", "--net", "nft", "add table ip a; add chain ip a b; add rule ip a b ct state new"]
    try:
        return subprocess.run(probe, check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6"])
def test_a_redirected_connection_goes_on_when_the_kernel_is_told_of_it(family):
    if not has_tracking():
        pytest.skip("needs root, nft and connection tracking")
    # The collection is where this process has found it.
    done = subprocess.run(
        [*OWN_NETWORK, family],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stderr == ""
    assert done.stdout == "['', 'not asked for']\n"


def socket(remote):
    return SimpleNamespace(protocol="tcp", local=("10.1.1.1", 80), remote=(remote, 5000), connected=remote != "")


def test_each_connection_is_asked_for_once_and_only_those_that_are_left_are_told_of(monkeypatch, tmp_path):
    asked = []

    def noted(sockets, everything):
        asked.append(([each.remote[0] for each in sockets], everything))
        return [(each, each.remote[0].encode()) for each in sockets if each.remote[0] != "plain"]

    monkeypatch.setattr(tracked.conntrack, "noted", noted)
    monkeypatch.setattr(tracked, "_NUMBER", str(tmp_path / "number"))
    monkeypatch.setattr(tracked, "_LOOSE", str(tmp_path / "loose"))
    first, ended, plain, listener, late = (socket(name) for name in ("first", "ended", "plain", "", "late"))
    unused = tracked.Tracked()
    unused.look([first])
    assert (unused.messages([first]), asked) == (b"", [])

    (tmp_path / "number").write_text("5\n")
    (tmp_path / "loose").write_text("0\n")
    known = tracked.Tracked()
    known.look([first, ended, plain, listener])
    known.look([first, plain, late])
    assert known.messages([late, first, plain, listener]) == b"latefirst"
    assert asked == [(["first", "ended", "plain"], True), (["late"], True)]


def entry(status, mark=0):
    """What the kernel tells of a connection that it has redirected."""
    client, server, own = ((bytes([10, 1, 1, last]), port) for last, port in ((2, 4000), (1, 80), (1, 8080)))
    parts = [
        (1 | netlink.NESTED, conntrack._tuple(2, 6, [client, server])),
        (2 | netlink.NESTED, conntrack._tuple(2, 6, [own if status & 32 else server, client])),
        (3, status.to_bytes(4, "big")),
        (4 | netlink.NESTED, netlink.attribute(1 | netlink.NESTED, netlink.attribute(1, b"\3") + netlink.attribute(4, b"\x2b\0"))),
        (7, (100).to_bytes(4, "big")),
        (8, mark.to_bytes(4, "big")),
    ]  # fmt: skip
    return b"\2\0\0\0" + b"".join(netlink.attribute(number, value) for number, value in parts)


def test_only_what_a_new_kernel_would_not_know_by_itself_is_told():
    assert conntrack._again(entry(0x0E), everything=False) == b""
    assert conntrack._again(entry(0x0E), everything=True)
    assert conntrack._again(entry(0x0E, mark=7), everything=False)
    ((kind, body),) = netlink.messages(conntrack._again(entry(0x2E), everything=False))
    told = dict(netlink.attributes(body[4:]))
    assert (kind, told[3]) == (0x100, (0x0E).to_bytes(4, "big"))
    assert int.from_bytes(told[7], "big") == 300
    # The reply as it would be without a translation; and the translation.
    assert told[2] == conntrack._tuple(2, 6, [(bytes([10, 1, 1, 1]), 80), (bytes([10, 1, 1, 2]), 4000)])
    assert told[13] == conntrack._translation(2, (bytes([10, 1, 1, 1]), 8080))
    assert 6 not in told
    assert dict(netlink.attributes(dict(netlink.attributes(told[4]))[1])) == {1: b"\3", 4: b"\x0b\x0b", 5: b"\x08\x08"}


def test_no_answer_of_the_kernel_breaks_the_parser():
    chance = random.Random(7)
    right = entry(0x2E)
    for _number in range(5000):
        broken = bytearray(right[: chance.randint(0, len(right))])
        for _flip in range(chance.randint(0, 4)):
            if broken:
                broken[chance.randrange(len(broken))] = chance.randrange(256)
        conntrack._again(bytes(broken), everything=True)
