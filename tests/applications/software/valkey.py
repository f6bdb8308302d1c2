"""As redis, from which it comes"""

from tests.applications.software import redis

UNITS = ("valkey-server.service",)
PORTS = (6380,)
PACKAGES = ("valkey-server",)
SETUP = """
sed -i -e 's/^bind .*/bind 0.0.0.0/' -e 's/^protected-mode .*/protected-mode no/' -e 's/^port .*/port 6380/' /etc/valkey/valkey.conf
"""


def Client(connect):
    return redis.Client(connect, PORTS[0])
