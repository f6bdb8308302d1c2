"""A service that loads the packet filter, started by systemd itself (`fakesystemd`) after the early boot has loaded what was recorded.

fakefilter.py LOADED    whether the early boot has; prints as JSON the rules after the first start, and after a restart
"""

import json
import os
import pathlib
import subprocess
import sys

import fakesystemd

from ansible_collections.kup.fleet.plugins.module_utils._environment import filter_services

NAME = "nftables.service"
FILE = "/run/own.nft"
RULES = (
    "table inet a {{\n  chain in {{\n    type filter hook input priority 0;\n    tcp dport 1 drop;\n{more}  }}\n}}\n"
)
# As Debian's, but for what a user's manager has not.
TEXT = (
    f"[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/sbin/nft -f {FILE}\n"
)
ADDED = "    tcp dport 2 drop;\n"


def main(loaded):
    pathlib.Path(FILE).write_text(RULES.format(more=""))
    os.mkdir("/run/kup")
    with fakesystemd.manager({NAME: TEXT}):
        systemctl("start", NAME)
        flush()
        text = filter_services.drop_ins()[NAME]
        systemctl("stop", NAME)
        folder = pathlib.Path(os.environ["XDG_CONFIG_HOME"]) / f"systemd/user/{NAME}.d"
        folder.mkdir()
        (folder / filter_services.DROP_IN).write_text(text)
        systemctl("daemon-reload")
        if loaded:  # with a rule that somebody has added, as files/node/boot/early does
            subprocess.run(["nft", "-f", "-"], input=RULES.format(more=ADDED), text=True, check=True)
            pathlib.Path(f"/run/kup/{NAME}.filtered").touch()
        systemctl("start", NAME)
        first = rules()
        systemctl("restart", NAME)
        print(json.dumps([first, rules()]))


def systemctl(*words):
    subprocess.run(["systemctl", *words], check=True)


def flush():
    subprocess.run(["nft", "flush", "ruleset"], check=True)


def rules():
    said = subprocess.run(["nft", "list", "ruleset"], check=True, capture_output=True, text=True).stdout
    return [line.strip() for line in said.splitlines() if "dport" in line]


if __name__ == "__main__":
    main(sys.argv[1] == "True")
