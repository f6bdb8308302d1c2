"""A stand-in for Consul's agent: the four requests of its documented HTTP interface that are used. It is not Consul."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from urllib.parse import parse_qs, unquote, urlsplit

SERVICES = {"cache-1": {"ID": "cache-1", "Service": "cache"}}


class _Agent(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        known = {"/v1/agent/checks": self.server.checks, "/v1/agent/services": SERVICES}
        self._answer(known.get(self.path))

    def do_PUT(self):
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        service = unquote(parts.path).partition("/v1/agent/service/maintenance/")[2]
        if service not in ("", *SERVICES) or (not service and parts.path != "/v1/agent/maintenance"):
            return self._answer(None)
        check = f"_service_maintenance:{service}" if service else "_node_maintenance"
        if query["enable"] == "true":
            # As Consul does: maintenance keeps the reason with which it began.
            self.server.checks.setdefault(
                check, {"CheckID": check, "Status": "critical", "Notes": query.get("reason", "")}
            )
        else:
            self.server.checks.pop(check, None)
        return self._answer({})

    def _answer(self, body):
        allowed = self.headers.get("X-Consul-Token") == self.server.token
        self.send_response(404 if body is None else 200 if allowed else 403)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode() if allowed else b"Permission denied")

    def log_message(self, *_arguments):
        pass


@contextlib.contextmanager
def started(token="secret"):
    """The agent, with ``checks``, ``token`` and ``server_address``."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Agent) as server:
        server.checks, server.token = {}, token
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def address(server):
    return f"http://127.0.0.1:{server.server_address[1]}"
