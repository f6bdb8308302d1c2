"""A node whose packet filter forbids the application's port to others, and whose rules begin with a flush"""

import socket
import subprocess

FORBIDDEN = 5030
PACKAGES = ("nftables",)
FILES = {
    "/etc/nftables.conf": (
        "#!/usr/sbin/nft -f\nflush ruleset\ntable inet case_firewall {\n  chain in {\n    type filter hook input priority 0;\n"
        f'    tcp dport {FORBIDDEN} iifname != "lo" drop;\n  }}\n}}\n'
    )
}
SETUP = "systemctl enable -q nftables; systemctl restart nftables"


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
