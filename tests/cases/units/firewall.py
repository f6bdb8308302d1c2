"""A node whose packet filter forbids the application's port to others, and whose rules begin with a flush"""

import socket
import subprocess

FORBIDDEN = 5030
PACKAGES = ("nftables",)
FILES = {
    "/etc/case-firewall.nft": (
        "flush ruleset\ntable inet case_firewall {\n  chain in {\n    type filter hook input priority 0;\n"
        f'    tcp dport {FORBIDDEN} iifname != "lo" drop;\n  }}\n}}\n'
    ),
    # As nftables.service, which an update would keep from flushing.
    "/etc/systemd/system/load-firewall.service": (
        "[Unit]\nDefaultDependencies=no\nWants=network-pre.target\nBefore=network-pre.target shutdown.target\nConflicts=shutdown.target\n"
        "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/sbin/nft -f /etc/case-firewall.nft\n"
        "[Install]\nWantedBy=sysinit.target\n"
    ),
}
SETUP = "systemctl enable -q load-firewall; systemctl restart load-firewall"


def program():
    listener = socket.socket()
    listener.bind(("0.0.0.0", FORBIDDEN))
    listener.listen(64)
    return lambda: {"port": listener.getsockname()[1]}


def _said(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout


def look():
    # Nobody accepts here: a connection that came through waits.
    found = _said("ss", "-Hltn", f"sport = :{FORBIDDEN}").split()
    return {
        "came_through": found[1] if found else "nobody listens",
        "filter": "case_firewall" in _said("nft", "list", "tables"),
    }
