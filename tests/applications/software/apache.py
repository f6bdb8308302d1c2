"""A web server: open connections, one with half a request, and its workers"""

from tests.applications import http

UNITS = ("apache2.service",)
PORTS = (8080,)
PACKAGES = ("apache2",)
RELEASES = {"12": "", "13": ""}
SETUP = """
systemctl stop apache2
sed -i 's/^Listen 80$/Listen 8080/' /etc/apache2/ports.conf
sed -i 's/:80>/:8080>/' /etc/apache2/sites-available/000-default.conf
sed -i -e 's/^KeepAliveTimeout .*/KeepAliveTimeout 3600/' -e 's/^Timeout .*/Timeout 3600/' /etc/apache2/apache2.conf
printf 'RequestReadTimeout header=0 body=0\\n' >/etc/apache2/conf-enabled/node.conf
"""


def Client(connect):
    return http.Serving(connect, PORTS[0])
