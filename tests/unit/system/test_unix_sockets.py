"""Unix sockets as the kernel tells them: real ones with odd names, and answers that are no answers."""

import os
import random
import socket
import struct

import hostile
import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import netlink, sock_diag, unix_sockets


def inode(of):
    return os.fstat(of.fileno()).st_ino


@pytest.mark.parametrize("name", [b"a b", b"two\nlines", b"\xe9\xff", b"", b"\0\0", *hostile.names(1, 30)])
def test_an_abstract_socket_may_have_any_name(name):
    with socket.socket(socket.AF_UNIX) as named:
        named.bind(b"\0kup" + str(os.getpid()).encode() + name)
        found = unix_sockets.table()[inode(named)]
    assert found.path == f"@kup{os.getpid()}" + name.decode("utf-8", "replace")
    assert found.peer == 0


@pytest.mark.parametrize("name", ["plain", "a b", "a\nb", "a * 7 b", "é"])
def test_the_path_and_the_peer_of_a_socket(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind(name)
        listener.listen()
        client.connect(name)
        with listener.accept()[0] as server:
            table = unix_sockets.table()
            assert table[inode(listener)] == unix_sockets.UnixSocket(name, inode(listener), listening=True)
            assert table[inode(client)] == unix_sockets.UnixSocket("", inode(client), inode(server))
            assert table[inode(server)] == unix_sockets.UnixSocket(name, inode(server), inode(client))


def test_connections_wait_until_they_are_accepted(tmp_path):
    with (
        socket.socket(socket.AF_UNIX) as listener,
        socket.socket(socket.AF_UNIX) as one,
        socket.socket(socket.AF_UNIX) as two,
    ):
        listener.bind(f"{tmp_path}/a")
        listener.listen()
        one.connect(f"{tmp_path}/a")
        two.connect(f"{tmp_path}/a")
        assert unix_sockets.table()[inode(listener)].waiting == 2
        listener.accept()[0].close()
        assert unix_sockets.table()[inode(listener)].waiting == 1


def test_the_type_of_a_socket(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
        one.bind(f"{tmp_path}/log")
        expected = unix_sockets.UnixSocket(f"{tmp_path}/log", inode(one), type=socket.SOCK_DGRAM)
        assert unix_sockets.table()[inode(one)] == expected


def test_more_sockets_than_one_answer_holds():
    pairs = [socket.socketpair() for _number in range(400)]
    try:
        table = unix_sockets.table()
        assert all(table[inode(one)].peer == inode(other) for one, other in pairs)
    finally:
        for pair in pairs:
            for each in pair:
                each.close()


def test_no_answer_of_the_kernel_breaks_the_parser():
    chance = random.Random(7)
    body = unix_sockets._MESSAGE.pack(1, 7, 42, 0, 0) + struct.pack("=HH", 9, 0) + b"\0a b\n\0\0\0"
    right = netlink.message(sock_diag.SOCK_DIAG_BY_FAMILY, 0, body)
    assert unix_sockets.sockets(sock_diag.parse(right)[0]) == [unix_sockets.UnixSocket("@a b\n", 42)]
    for _number in range(20000):
        broken = bytearray(right[: chance.randint(0, len(right))])
        for _flip in range(chance.randint(0, 4)):
            if broken:
                broken[chance.randrange(len(broken))] = chance.randrange(256)
        try:
            sockets = unix_sockets.sockets(sock_diag.parse(bytes(broken))[0])
        except OSError:  # it may have become one
            continue
        assert len(sockets) <= 1


def test_an_error_of_the_kernel_is_told(monkeypatch):
    error = netlink.message(netlink.ERROR, 0, struct.pack("=i", -2))
    with pytest.raises(OSError, match="2"):
        sock_diag.parse(error)
    monkeypatch.setattr(sock_diag, "SOCK_DIAG_BY_FAMILY", 99)
    with pytest.raises(KupError, match="module unix_diag"):
        unix_sockets.table()
