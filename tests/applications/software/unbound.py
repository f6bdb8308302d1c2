"""A resolver: names that it was told while it ran, and half a question on an open connection"""

from tests.applications import dns

UNITS = ("unbound.service",)
PORTS = (5354,)
PACKAGES = ("unbound",)
RELEASES = {"12": "", "13": ""}
FILES = {
    "/etc/unbound/unbound.conf.d/node.conf": """server:
    interface: 0.0.0.0@5354
    access-control: 0.0.0.0/0 allow
    tcp-idle-timeout: 3600000
    edns-tcp-keepalive: yes
    edns-tcp-keepalive-timeout: 3600000
    local-zone: "of.lab." static
remote-control:
    control-enable: yes
    control-interface: /run/unbound.ctl
"""
}
AFTER = (
    'for number in $(seq 0 49); do echo "name-$number.of.lab. 60 IN TXT \\"text $number\\""; done | '
    "unbound-control -c /etc/unbound/unbound.conf local_datas >/dev/null"
)


def Client(connect):
    return dns.Asking(connect, PORTS[0], {f"name-{number}.of.lab": f"text {number}" for number in range(50)})
