"""A proxy: counters of its clients in memory, open connections, one with half a request, and a control socket whose file it has renamed"""

from tests.applications import http

UNITS = ("haproxy.service",)
PORTS = (8084,)
PACKAGES = ("haproxy",)
ADDED = """
frontend counting
    bind *:8084
    mode http
    timeout client 1h
    timeout http-request 1h
    timeout http-keep-alive 1h
    stick-table type string len 32 size 10k expire 1d store http_req_cnt
    http-request track-sc0 path
    http-request return status 200 content-type text/plain lf-string "%[sc_http_req_cnt(0)]"
"""
SETUP = f"cat >>/etc/haproxy/haproxy.cfg <<'END'\n{ADDED}END"
_NAMES = 50


class Client:
    """Has asked for some paths, one more often than the one before, and does so again: the answer is how often."""

    def __init__(self, connect):
        self._first, self._second = connect(PORTS[0]), connect(PORTS[0])
        self._counts = [0] * _NAMES
        for number in range(_NAMES):
            for _time in range(number % 5 + 1):
                self._ask(number)

    def _ask(self, number):
        self._counts[number] += 1
        return http.ask(self._first, f"/{number}")

    def before(self):
        self._second.send(b"GET /0 HTTP/1.1\r\nHo")

    def after(self):
        wrong = sum(self._ask(number) != (200, b"%d" % self._counts[number]) for number in range(_NAMES))
        self._second.send(b"st: node\r\n\r\n")
        self._counts[0] += 1
        found = http.answer(self._second)
        return [f"{wrong} of {_NAMES} counters are not what they were"] * bool(wrong) + [
            f"the divided request was answered {found!r}"
        ] * (found != (200, b"%d" % self._counts[0]))
