"""A name server: 200 names, and half a question on an open connection"""

from tests.applications import dns

UNITS = ("named.service",)
PORTS = (5353,)
PACKAGES = ("bind9",)
RELEASES = {"12": "", "13": ""}
FILES = {
    "/etc/bind/named.conf.options": """options {
    directory "/var/cache/bind";
    listen-on port 5353 { any; };
    listen-on-v6 { none; };
    tcp-idle-timeout 1200;
    tcp-keepalive-timeout 65535;
    dnssec-validation no;
    recursion no;
};
""",
    "/etc/bind/named.conf.local": 'zone "of.lab" { type primary; file "/var/lib/bind/of.lab"; };\n',
    "/var/lib/bind/of.lab": (
        "$TTL 60\n@ SOA ns.of.lab. root.of.lab. 1 60 60 600 60\n@ NS ns.of.lab.\nns A 192.0.2.1\n"
        + "".join(f'name-{number} TXT "text {number}"\n' for number in range(200))
    ),
}


def Client(connect):
    return dns.Asking(connect, PORTS[0], {f"name-{number}.of.lab": f"text {number}" for number in range(200)})
