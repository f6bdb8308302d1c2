# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Paths in file systems in memory: which of them are the applications', and go with them into the next boot."""

from __future__ import annotations

import os

from .private_places import PRIVATE

#: Where applications keep files that end with the boot; /run/lock may be a file system of its own.
BASES = ("/run/lock", "/run", "/dev/shm", "/tmp")

# The next boot's own: it makes them anew, and would be misled by those of the old one.
_OF_THE_BOOT = ("systemd", "udev", "user", "kup", "log", "mount", "credentials", "initramfs", "host", "lock", "utmp")
_OF_THE_BOOT += ("sysctl.d", "tmpfiles.d", "modules-load.d", "network", "blkid", "lvm", "cryptsetup")


def base_of(path):
    """The base that ``path`` is below, or an empty text."""
    return next((base for base in BASES if path.startswith(f"{base}/")), "")


def top_of(path):
    """The ancestor of ``path``, or itself, that lies directly in its base."""
    base = base_of(path)
    return f"{base}/{path[len(base) + 1 :].partition('/')[0]}"


def travels(path):
    """Whether the absolute ``path``, without links in it, goes with an application that uses it."""
    base = base_of(path)
    # What only one unit sees (private_places) goes with it in another way.
    if not base or path.startswith(f"/tmp{PRIVATE}"):
        return False
    return not (base == "/run" and top_of(path)[len("/run/") :] in _OF_THE_BOOT)


def devices():
    """Numbers (major, minor) of the file systems of the bases. What is mounted below them does not travel."""
    found = set()
    for base in BASES:
        if os.path.isdir(base):
            number = os.stat(base).st_dev
            found.add((os.major(number), os.minor(number)))
    return found
