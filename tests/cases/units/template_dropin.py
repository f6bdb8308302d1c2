"""An instance of a template with a drop-in that sets the command"""

import os
import sys

INSTANCE = "1"
PROGRAM = "/bin/false"
FILES = {
    "/etc/systemd/system/case-template-dropin@.service.d/command.conf": (
        "[Unit]\nAfter=network-online.target\n[Service]\nEnvironment=CASE=1\nExecStart=\n"
        "ExecStart=/usr/bin/python3 -B /usr/local/lib/kup-cases/run.py template-dropin program\n"
    )
}


def program():
    return lambda: {"argv": sys.argv[1:], "environment": os.environ.get("CASE")}
