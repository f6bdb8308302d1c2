"""A cache of web pages: its pages in memory, in a child of another user; open connections, one with half a request"""

from tests.applications import http, origin

UNITS = ("varnish.service",)
PORTS = (6081,)
PACKAGES = ("varnish",)
FILES = origin.FILES
SETUP = f'{origin.SETUP} sed -i -e \'s/\\.port = "8080"/.port = "{origin.HTTP}"/\' /etc/varnish/default.vcl'
# It compiles its configuration first.
AFTER = """
for _try in $(seq 120); do varnishadm ping >/dev/null 2>&1 && break; sleep 1; done
varnishadm param.set timeout_idle 3600
"""


def Client(connect):
    return http.Serving(connect, PORTS[0], *(f"/{number}" for number in range(100)))
