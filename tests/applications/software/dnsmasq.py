"""A forwarder of names: answers in its memory"""

from tests.applications import dns, origin

UNITS = ("dnsmasq.service",)
PORTS = (5356,)
PACKAGES = ("dnsmasq",)
FILES = {
    **origin.FILES,
    "/etc/dnsmasq.d/node.conf": f"port={PORTS[0]}\nno-resolv\nno-hosts\nserver=127.0.0.1#{origin.DNS}\ncache-rr=TXT\n",
}
SETUP = origin.SETUP


def Client(connect):
    return dns.Cached(connect, PORTS[0], [f"name-{number}.of.lab" for number in range(50)])
