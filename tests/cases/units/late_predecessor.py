"""A unit of the late boot, and a timer, that ask to come before the service"""

import subprocess

FILES = {
    "/etc/systemd/system/case-late-first.service": (
        "[Unit]\nBefore=case-late-predecessor.service\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n"
        "[Install]\nWantedBy=multi-user.target\n"
    ),
    "/etc/systemd/system/case-late-predecessor.timer": "[Timer]\nOnBootSec=1d\n[Install]\nWantedBy=timers.target\n",
}
SETUP = "systemctl enable -q --now case-late-first.service case-late-predecessor.timer"
UNITS = ("case-late-first.service", "case-late-predecessor.timer")


def program():
    return dict


def look():
    argv = ["systemctl", "is-active", *UNITS]
    said = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    return dict(zip(UNITS, said.split(), strict=False))
