"""What a killed CRIU has left is taken away; what others have is not."""

import os
import socket
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._criu import cleanup
from ansible_collections.kup.fleet.plugins.module_utils._system.processes import Process


def test_only_tables_of_criu_that_were_not_there_before_are_deleted(tmp_path, monkeypatch):
    deleted = []

    def nft(argv, **_options):
        deleted.append(argv[-1])
        return types.SimpleNamespace(
            stdout="table inet kup\ntable inet CRIU-1\ntable inet CRIU-2f-3\ntable ip CRIU-4\n"
        )

    monkeypatch.setattr(cleanup, "_LIST", ["echo", "table inet CRIU-1"])
    cleanup.before(str(tmp_path)).wait()
    processes, repaired = [object(), object()], []
    monkeypatch.setattr(cleanup, "Unit", lambda name: types.SimpleNamespace(processes=processes))
    monkeypatch.setattr(cleanup, "_end_repair", repaired.append)
    monkeypatch.setattr(cleanup, "run", nft)
    cleanup.undo("cache.service", str(tmp_path))
    assert deleted[1:] == ["CRIU-2f-3"]
    assert repaired == processes


def test_the_repair_mode_of_a_connection_ends():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as connection:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, cleanup._TCP_REPAIR, 1)
        except PermissionError:
            pytest.skip("only root may have a connection in repair mode")
        cleanup._end_repair(Process(os.getpid()))
        assert connection.getsockopt(socket.IPPROTO_TCP, cleanup._TCP_REPAIR) == 0
        accepted, _address = server.accept()
        with accepted:
            connection.sendall(b"still there")
            assert accepted.recv(64) == b"still there"
