# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A server on loopback that answers queries for alerts, and for the values of series over a time, as Prometheus does."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit


def alert(name, **labels):
    """An element of the result, as Prometheus 2.42 gives it."""
    metric = {"__name__": "ALERTS", "alertname": name, "alertstate": "firing", **labels}
    return {"metric": metric, "value": [1767268800.123, "1"]}


def vector(*alerts, **more):
    """The whole answer."""
    return {"status": "success", "data": {"resultType": "vector", "result": list(alerts)}, **more}


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        status, headers, body = self.server.answer(self.path)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        # A reader that has read enough goes away.
        with contextlib.suppress(ConnectionError):
            for part in body if isinstance(body, (list, tuple)) or hasattr(body, "__next__") else [body]:
                self.wfile.write(part)
                self.wfile.flush()

    def log_message(self, *_words):
        pass


@contextlib.contextmanager
def serving(answer):
    """A running server; ``asked`` has the path of each request, and its authorization.

    :param answer: function of the path that returns (status, headers, body): the body is bytes or an iterable of them.
    """
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.asked, server.answer = [], answer
    server.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def says(*alerts, **more):
    """Such an answer: these alerts are firing."""
    return _good(vector(*alerts, **more))


def _good(answer):
    return 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()


@dataclass(frozen=True)
class Range:
    """A query for values over a time."""

    query: str
    start: float
    end: float
    step: float

    @classmethod
    def of(cls, path):
        """That of the path of a request; None if it is another question."""
        parts = urlsplit(path)
        if not parts.path.endswith("/api/v1/query_range"):
            return None
        given = {name: values[0] for name, values in parse_qs(parts.query).items()}
        return cls(given["query"], *(float(given[name]) for name in ("start", "end", "step")))

    def says(self, *series, **more):
        """The answer: a series for each function of the time, which returns a number, or None for no value then."""
        moments = [self.start + number * self.step for number in range(int((self.end - self.start) / self.step) + 1)]
        result = [
            {
                "metric": {"number": str(number)},
                "values": [[at, str(each(at))] for at in moments if each(at) is not None],
            }
            for number, each in enumerate(series)
        ]
        return _good({"status": "success", "data": {"resultType": "matrix", "result": result}, **more})
