"""A node whose packet filter is loaded by a file without a flush, and has a rule that somebody has added since"""

import subprocess

PACKAGES = ("nftables",)
FILES = {
    "/etc/nftables.conf": (
        "#!/usr/sbin/nft -f\ntable inet case_append {\n  chain in {\n    type filter hook input priority 0;\n"
        "    tcp dport 5031 drop;\n  }\n}\n"
    )
}
SETUP = (
    "nft flush ruleset; systemctl enable -q nftables; systemctl restart nftables\n"
    "nft add rule inet case_append in tcp dport 5032 drop"
)
# It has the node's one file for itself.
ALONE = True
MUST = {"rules": ["tcp dport 5031 drop", "tcp dport 5032 drop"]}


def program():
    return dict


def look():
    argv = ["nft", "list", "table", "inet", "case_append"]
    said = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    return {"rules": [line.strip() for line in said.splitlines() if "dport" in line]}
