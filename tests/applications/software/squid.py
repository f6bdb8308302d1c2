"""A proxy: pages in memory, helper processes, open connections of its clients, one with half a request"""

from tests.applications import http, origin

UNITS = ("squid.service",)
PORTS = (3128,)
PACKAGES = ("squid",)
FILES = {
    **origin.FILES,
    "/etc/squid/conf.d/node.conf": "client_idle_pconn_timeout 1 day\nrequest_timeout 1 day\nshutdown_lifetime 1 second\n",
}
SETUP = f"{origin.SETUP} sed -i -e '1i http_access allow all' /etc/squid/squid.conf"


def Client(connect):
    return http.Serving(connect, PORTS[0], *(f"http://127.0.0.1:{origin.HTTP}/{number}" for number in range(100)))
