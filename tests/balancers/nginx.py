"""nginx in front of two web servers, ``1`` on node1 and ``2`` on node2. The servers are in the file cache.conf."""

from __future__ import annotations

import contextlib
import http.server
import threading
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from tests import balancers

_CONFIGURATION = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream cache {{ include {folder}/cache.conf; }}
    server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://cache; }} }}
}}
"""


@dataclass(frozen=True)
class Started:
    """``command``: nginx with what each call of it needs; ``servers``: the file; ``first``, ``second``: addresses in it."""

    command: list
    servers: Path
    first: str
    second: str
    port: int

    def answering(self):
        """Names of the web servers that new requests lead to."""

        def ask(_try):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=10) as answer:
                return answer.read()

        return set(map(ask, range(6)))


class _Name(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.server.name)

    def log_message(self, *_arguments):
        pass


@contextlib.contextmanager
def _web(name):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Name) as server:
        server.name = name
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@contextlib.contextmanager
def started(folder):
    """nginx with its files in ``folder``."""
    port, configuration = balancers.free_port(), folder / "nginx.conf"
    configuration.write_text(_CONFIGURATION.format(folder=folder, port=port))
    command = ["/usr/sbin/nginx", "-c", str(configuration), "-e", str(folder / "error.log")]
    with _web(b"1") as first, _web(b"2") as second:
        servers = folder / "cache.conf"
        servers.write_text(f"# The cache.\nserver {first} weight=2 max_fails=0;\nserver {second}; # the other one\n")
        found = Started(command, servers, first, second, port)
        with balancers.running(command, (folder / "nginx.pid").exists):
            yield found
