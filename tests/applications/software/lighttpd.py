"""A web server: open connections, one with half a request"""

from tests.applications import http

UNITS = ("lighttpd.service",)
PORTS = (8085,)
PACKAGES = ("lighttpd",)
RELEASES = {"12": "", "13": ""}
FILES = {"/etc/lighttpd/conf-enabled/90-node.conf": "server.max-keep-alive-idle = 3600\nserver.max-read-idle = 3600\n"}
SETUP = "sed -i -e 's/^server.port .*/server.port = 8085/' /etc/lighttpd/lighttpd.conf"


def Client(connect):
    return http.Serving(connect, PORTS[0])
