"""A database of measurements, in Go: the newest of them in memory, open connections to others and to itself, one with half a request"""

import json
import time

from tests.applications import http

UNITS = ("prometheus.service",)
PORTS = (9090,)
PACKAGES = ("prometheus",)
SETUP = "sed -i -e 's/^ARGS=.*/ARGS=\"--web.read-timeout=24h\"/' /etc/default/prometheus"
# It begins a file of measurements after some minutes, and connects to what it measures anew.
WORKS = r"/metrics2/|fd \d+ is .*(/metrics2/|socket )"
# Since when it runs, and the oldest sample of itself.
_RUNS, _OLDEST = "/api/v1/status/runtimeinfo", "/api/v1/query?query=min_over_time(timestamp(prometheus_ready)[1d:15s])"
# It measures itself every five seconds, and the query looks every 15 seconds. On an emulated processor it takes longer.
_PATIENCE = 180


class Client:
    def __init__(self, connect):
        self._first, self._second = connect(PORTS[0]), connect(PORTS[0])
        self._was = None

    def _started(self):
        return json.loads(http.ask(self._first, _RUNS)[1])["data"]["startTime"]

    def _oldest(self):
        found = json.loads(http.ask(self._first, _OLDEST)[1])["data"]["result"]
        return [one["value"][1] for one in found]

    def _measured(self):
        """Wait for the first sample; return the oldest."""
        give_up = time.monotonic() + _PATIENCE
        while not (found := self._oldest()):
            if time.monotonic() > give_up:
                raise ValueError(f"Prometheus has no measurement of itself after {_PATIENCE} s")
            time.sleep(1)
        return found

    def before(self):
        self._was = self._started(), self._measured()
        self._second.send(f"GET {_RUNS} HTTP/1.1\r\nHo".encode())

    def after(self):
        started, oldest = self._was
        found = {"its start": (self._started(), started), "its oldest sample": (self._oldest(), oldest)}
        self._second.send(b"st: node\r\n\r\n")
        found["the divided request"] = (json.loads(http.answer(self._second)[1])["data"]["startTime"], started)
        return [f"{name} is {now!r}, was {was!r}" for name, (now, was) in found.items() if now != was]
