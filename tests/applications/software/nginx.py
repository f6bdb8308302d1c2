"""A web server: open connections, one with half a request, and its workers"""

from tests.applications import http

UNITS = ("nginx.service",)
PORTS = (80,)
PACKAGES = ("nginx",)
RELEASES = {"12": "", "13": ""}
# An idle connection lives longer than an update of an emulated machine takes.
FILES = {"/etc/nginx/conf.d/node.conf": "keepalive_timeout 3600s;\nclient_header_timeout 3600s;\n"}
SETUP = "sed -i '/keepalive_timeout/d' /etc/nginx/nginx.conf"


def Client(connect):
    return http.Serving(connect, PORTS[0])
