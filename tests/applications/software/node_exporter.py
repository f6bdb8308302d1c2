"""A program in Go: an open connection, and how often it was asked"""

import re

from tests.applications import http

UNITS = ("prometheus-node-exporter.service",)
PORTS = (9100,)
PACKAGES = ("prometheus-node-exporter",)
RELEASES = {"12": "", "13": ""}
# A Prometheus on the same node asks it, too, and connects anew after a pause.
WORKS = r"fd \d+ is .*socket"


class Client:
    def __init__(self, connect):
        self._wire, self._asked = connect(PORTS[0]), 0
        self.before()

    def _count(self):
        """How often it was asked before this time."""
        _status, body = http.ask(self._wire, "/metrics")
        found = re.search(rb'^promhttp_metric_handler_requests_total\{code="200"\} (\d+)', body, re.M)
        return int(found[1]) if found else None

    def before(self):
        self._asked = self._count() + 1

    def after(self):
        now = self._count()
        return [f"its count of requests is {now}, was {self._asked} or more"] * (now < self._asked)
