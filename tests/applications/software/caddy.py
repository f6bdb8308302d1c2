"""A web server in Go: pages that it was told while it ran, an answer under way, half a request"""

import json

from tests.applications import http

UNITS = ("caddy.service",)
PORTS = (8093, 2019)
PACKAGES = ("caddy",)
_SIZE = 8 << 20  # bytes: more than the buffers of a connection hold
FILES = {
    "/etc/caddy/Caddyfile": f"""{{
    admin 0.0.0.0:{PORTS[1]} {{
        origins node
    }}
    servers {{
        timeouts {{
            read_header 24h
            idle 24h
        }}
    }}
}}
:{PORTS[0]} {{
    root * /srv/caddy
    file_server
}}
"""
}
SETUP = f'mkdir -p /srv/caddy; python3 -c \'print("line\\n" * ({_SIZE} // 5), end="")\' >/srv/caddy/lines'
_PAGES = 50


class Client:
    def __init__(self, connect):
        for number in range(_PAGES):
            page = {
                "match": [{"path": [f"/told/{number}"]}],
                "handle": [{"handler": "static_response", "body": f"page {number}"}],
            }
            # Before the routes of the file, by a connection of its own: each change closes those that are idle.
            self._tell(connect(PORTS[1]), "/config/apps/http/servers/srv0/routes/0", page)
        self._first, self._second, self._third = (connect(PORTS[0]) for _number in range(3))

    @staticmethod
    def _tell(admin, path, what):
        body = json.dumps(what)
        admin.send(
            f"PUT {path} HTTP/1.1\r\nHost: node\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        status, said = http.answer(admin)
        if status != 200:
            raise ValueError(f"{path}: {status} {said.decode(errors='replace')}")

    def before(self):
        self._second.send(b"GET /told/7 HTTP/1.1\r\nHo")
        http.send(self._third, "/lines")
        http.head(self._third)
        self._third.take(5)

    def after(self):
        wrong = [n for n in range(_PAGES) if http.ask(self._first, f"/told/{n}") != (200, f"page {n}".encode())]
        self._second.send(b"st: node\r\n\r\n")
        rest = self._third.take(_SIZE // 5 * 5 - 5)
        found = {
            "the divided request": (http.answer(self._second), (200, b"page 7")),
            "the rest of the answer under way": (rest == b"line\n" * (_SIZE // 5 - 1), True),
        }
        return [f"{len(wrong)} of {_PAGES} pages are not what it was told"] * bool(wrong) + [
            f"{name} is {now!r}, was {was!r}" for name, (now, was) in found.items() if now != was
        ]
