"""TCP connections that only the kernel has, on the loopback."""

import errno
import os
import socket
import struct

import pytest
from soon import soon

from ansible_collections.kup.fleet.plugins.module_utils._system import tcp_states

OTHER = frozenset({1})


@pytest.fixture(params=[("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)], ids=["ipv4", "ipv6"])
def listener(request):
    address, family = request.param
    with socket.socket(family) as made:
        try:
            made.bind((address, 0))
        except OSError:
            pytest.skip("no IPv6")
        made.listen(8)
        yield made


def ports(listener):
    return {listener.getsockname()[1]}


def client(listener):
    made = socket.socket(listener.family)
    made.connect(listener.getsockname())
    return made


def test_a_handshake_that_is_not_over(listener):
    assert not tcp_states.opening(ports(listener))
    # It is over when the client sends something.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 60)
    with client(listener) as begun:
        assert soon(tcp_states.opening, ports(listener))
        assert not tcp_states.opening(OTHER)
        begun.send(b"x")
        listener.accept()[0].close()
        assert not tcp_states.opening(ports(listener))


def test_a_closed_connection_that_has_something_to_send(listener):
    with client(listener) as reader:
        server = listener.accept()[0]
        server.setblocking(False)
        sent = 0
        try:
            while True:
                sent += server.send(bytes(1 << 20))
        except BlockingIOError:
            pass
        # While a process has it, it is carried.
        assert not tcp_states.closing(ports(listener))
        server.close()
        assert soon(tcp_states.closing, ports(listener))
        assert not tcp_states.closing(OTHER)
        while sent:
            sent -= len(reader.recv(1 << 20))
        assert soon(lambda: not tcp_states.closing(ports(listener)))


def test_a_kernel_that_does_not_tell_has_none(monkeypatch):
    def ask(request):
        raise OSError(errno.ENOENT, "no such module")

    monkeypatch.setattr(tcp_states.sock_diag, "ask", ask)
    assert not tcp_states.opening({80})
    assert not tcp_states.closing({80})


def test_sockets_whose_segments_are_signed(listener):
    assert os.fstat(listener.fileno()).st_ino not in tcp_states.signed()
    if os.getuid() or listener.family != socket.AF_INET:
        pytest.skip("needs root, and an address of IPv4 for the key")
    # struct tcp_md5sig: the peer's address, and a key of six bytes.
    key = struct.pack("=H2x4s120x", socket.AF_INET, socket.inet_aton("127.0.0.1")) + struct.pack(
        "=BBHi80s", 0, 0, 6, 0, b"secret"
    )
    try:
        listener.setsockopt(socket.IPPROTO_TCP, 14, key)
    except OSError:
        pytest.skip("this kernel has no TCP-MD5")
    assert os.fstat(listener.fileno()).st_ino in tcp_states.signed()
