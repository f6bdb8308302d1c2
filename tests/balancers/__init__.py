"""Balancers that tests start for themselves, on the loopback and with files of their own, and end by their process ids."""

from __future__ import annotations

import contextlib
import os
import socket
import socketserver
import subprocess
import threading
import time

_PATIENCE = 20  # seconds


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(condition):
    """Wait until ``condition()`` is true, and return what it is."""
    deadline = time.monotonic() + _PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)
    return found


@contextlib.contextmanager
def running(words, ready):
    """A program, from when ``ready()`` is true."""
    # By the path that Debian has: a user's PATH has no sbin.
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, env=environment)
    try:
        wait_for(lambda: process.poll() is not None or ready())
        assert process.poll() is None, f"{words[0]} has ended"
        yield process
    finally:
        process.terminate()
        process.wait(_PATIENCE)


class _Name(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(1):
            self.request.sendall(self.server.name)


@contextlib.contextmanager
def application(name):
    """A server that answers each byte with the byte ``name``; returns its port."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Name) as server:
        server.name, server.daemon_threads, server.block_on_close = name, True, False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


def who(connection):
    """The name of the application behind an open connection."""
    connection.sendall(b"?")
    return connection.recv(1)


def answering(port, tries=8):
    """Names of the applications that new connections lead to."""
    found = set()
    for _try in range(tries):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            found.add(who(connection))
    return found
