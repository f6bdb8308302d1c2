"""Files of all kinds in the private /tmp and /var/tmp of PrivateTmp=, in memory and on a disk"""

import pathlib

import private

SERVICE = "PrivateTmp=yes"
# The node's own file at the path of one that only the unit sees.
SETUP = "echo node >/var/tmp/closed"
MUST = {"private": ["/tmp", "/var/tmp"], "rights": [private.RIGHTS] * 2}


def program():
    return private.begin("/tmp", "/var/tmp")


def look():
    return {
        "node": pathlib.Path("/var/tmp/closed").read_text(encoding="ascii"),
        "others": [path for path in ("/tmp/hard", "/var/tmp/hard") if pathlib.Path(path).exists()],
    }
