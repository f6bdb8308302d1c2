"""Sockets of other processes, asked by a copy of their descriptors."""

import os
import socket

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system import descriptors, processes

NOBODY = 65534
ROOT = "/proc/self/root"


def test_the_user_of_a_peer():
    mine = os.geteuid()
    os.seteuid(mine or NOBODY)
    one, other = socket.socketpair()
    os.seteuid(mine)
    with (
        one,
        other,
        socket.socket(socket.AF_UNIX) as lonely,
        open("/dev/null", "rb") as file,
        descriptors.Copies(processes.Process(os.getpid())) as copies,
    ):
        assert copies.peer_user(one.fileno()) == (mine or NOBODY)
        assert copies.peer_user(lonely.fileno()) == -1
        assert copies.peer_user(file.fileno()) is None
        assert copies.peer_user(1 << 20) is None


def rename(directory):
    (directory / "socket").rename(directory / "other")


def take_away(directory):
    (directory / "socket").rename(f"{directory}.other")


def replace(directory):
    rename(directory)
    (directory / "socket").touch()


def rename_directory(directory):
    directory.rename(f"{directory}.old")


def remove(directory):
    (directory / "socket").unlink()


def keep(directory):
    assert (directory / "socket").is_socket()


@pytest.mark.parametrize(
    ("change", "moved"),
    [
        # It gets that name again.
        (rename, False),
        (take_away, True),
        (replace, True),
        (rename_directory, True),
        (remove, False),
        (keep, False),
    ],
)
def test_where_the_file_of_a_unix_socket_is(tmp_path, change, moved):
    place = tmp_path / "run"
    place.mkdir()
    with (
        socket.socket(socket.AF_UNIX) as bound,
        socket.socket(socket.AF_UNIX) as lonely,
        descriptors.Copies(processes.Process(os.getpid())) as copies,
    ):
        bound.bind(f"{place}/socket")
        change(place)
        assert copies.moved(bound.fileno(), f"{place}/socket", ROOT) == moved
        # Of a name in a working directory nobody knows where it leads.
        assert change is not rename or copies.moved(bound.fileno(), "", ROOT)
        assert not copies.moved(lonely.fileno(), "", ROOT)


def test_a_process_that_has_ended_has_no_sockets():
    with descriptors.Copies(processes.Process(2**22 + 1)) as copies:
        assert copies.peer_user(0) is None
        assert copies.kind_of(0) is None
