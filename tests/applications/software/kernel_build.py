"""A kernel that is being built: make, compilers that come and go, pipes between them, files half written"""

import time

from tests.applications import http

UNITS = ("kernel-build.service",)
PORTS = (8092,)
PACKAGES = ("make", "gcc", "flex", "bison", "bc", "libelf-dev", "xz-utils", "linux-source-6.12")
FILES = {
    "/usr/local/lib/kernel-build": """#!/bin/sh
# Each line of the log is written at once; a build that began anew would be seen.
cd /srv/build/linux-source-6.12 || exit 1
echo began >>/srv/build/log
make -j3 vmlinux >>/srv/build/log 2>&1
echo "ended with $?" >>/srv/build/log
exec sleep infinity
""",
    "/etc/systemd/system/kernel-build.service": (
        "[Service]\nUser=daemon\nPrivateTmp=yes\nExecStart=/bin/sh /usr/local/lib/kernel-build\n[Install]\nWantedBy=multi-user.target\n"
    ),
    # Not carried: the client looks at the log with it.
    "/etc/systemd/system/kernel-build-log.service": (
        f"[Service]\nUser=daemon\nExecStart=/usr/bin/python3 -m http.server -d /srv/build {PORTS[0]}\n[Install]\nWantedBy=multi-user.target\n"
    ),
}
AFTER = """
mkdir -p /srv/build
cd /srv/build
rm -rf log linux-source-6.12
tar -xJf /usr/src/linux-source-6.12.tar.xz --exclude '*/Documentation/*/*' --exclude '*/drivers/*/*/*/*.[ch]' --exclude '*/tools/testing/*'
make -s -C linux-source-6.12 tinyconfig
chown -R daemon: /srv/build
systemctl enable -q --now kernel-build-log.service
systemctl restart kernel-build.service
"""
# All of its processes but the first are as many as the work needs, and new ones at each look.
WORKS = "."
# An emulated processor compiles a file in seconds.
_PATIENCE, _MIDDLE = 3600, 60


class Client:
    def __init__(self, connect):
        self._connect = connect

    def _log(self):
        status, body = http.ask(self._connect(PORTS[0]), "/log")
        if status != 200:
            raise ValueError(f"the log of the build: {status}")
        return body.decode(errors="replace").splitlines()

    def _wait(self, enough, what):
        give_up = time.monotonic() + _PATIENCE
        while not enough(lines := self._log()):
            if time.monotonic() > give_up:
                raise ValueError(f"{what} has not come after {_PATIENCE} s; the last line is {lines[-1]!r}")
            time.sleep(5)
        return lines

    def before(self):
        lines = self._wait(lambda lines: len(lines) > _MIDDLE, f"line {_MIDDLE} of the build")
        if any(line.startswith("ended") for line in lines):
            raise ValueError("the build has ended before the update")

    def after(self):
        lines = self._wait(lambda lines: lines[-1].startswith("ended"), "the end of the build")
        found = [line for line in lines if line == "began" or line.startswith("ended")]
        return [f"the log says {found!r}"] * (found != ["began", "ended with 0"])
