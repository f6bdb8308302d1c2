"""HAProxy in front of two applications: ``1`` is on every node but node2, and ``2`` on node2. Its backends are cache and other."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from ansible_collections.kup.fleet.plugins.module_utils._drain import haproxy
from tests import balancers

_HEAD = """
global
    stats socket {socket} mode 600 level admin
    stats socket {socket}.user mode 600 level user
defaults
    mode tcp
    timeout connect 5s
    timeout client 60s
    timeout server 60s
"""


@dataclass(frozen=True)
class Started:
    socket: str
    port: int

    def states(self):
        return haproxy.server_states(haproxy.ask(self.socket, "show servers state"))

    def set(self, server, state):
        assert haproxy.ask(self.socket, f"set server {server} state {state}").strip() == ""


@contextlib.contextmanager
def started(folder, nodes=("node1",)):
    """HAProxy with its files in ``folder``, and a server for each of ``nodes`` in both backends."""
    path, port = folder / "admin.sock", balancers.free_port()
    with balancers.application(b"1") as first, balancers.application(b"2") as second:
        servers = "".join(f"    server {name} 127.0.0.1:{first}\n" for name in nodes)
        cache = f"listen cache\n    bind 127.0.0.1:{port}\n{servers}    server node2 127.0.0.1:{second}\n"
        (folder / "haproxy.cfg").write_text(f"{_HEAD.format(socket=path)}{cache}backend other\n{servers}")
        with balancers.running(["haproxy", "-q", "-db", "-f", folder / "haproxy.cfg"], path.exists):
            yield Started(str(path), port)
