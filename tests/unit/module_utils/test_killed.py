"""What a killed CRIU has left is taken away; what others have is not."""

import os
import socket
import subprocess
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils import _killed
from ansible_collections.kup.fleet.plugins.module_utils._processes import Process


def listing(*names):
    text = "\n".join(f"table {name}" for name in names)
    return subprocess.Popen(["echo", text], stdout=subprocess.PIPE, text=True)


def test_only_tables_of_criu_that_were_not_there_before_are_deleted(monkeypatch):
    deleted = []
    monkeypatch.setattr(_killed, "tables", lambda: listing("inet kup", "inet CRIU-1", "inet CRIU-2f-3", "ip CRIU-4"))
    monkeypatch.setattr(_killed, "Unit", lambda name: types.SimpleNamespace(processes=[]))
    monkeypatch.setattr(_killed, "run", lambda argv, **_options: deleted.append(argv[-1]))
    _killed.undo("cache.service", listing("inet CRIU-1"))
    assert deleted == ["CRIU-2f-3"]


def test_the_repair_mode_of_a_connection_ends():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as connection:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, _killed._TCP_REPAIR, 1)
        except PermissionError:
            pytest.skip("only root may have a connection in repair mode")
        _killed._end_repair(Process(os.getpid()))
        assert connection.getsockopt(socket.IPPROTO_TCP, _killed._TCP_REPAIR) == 0
        accepted, _address = server.accept()
        with accepted:
            connection.sendall(b"still there")
            assert accepted.recv(64) == b"still there"
