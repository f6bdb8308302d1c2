# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""dpkg's lock, held until the jump: a kernel that ends in the middle of an installation leaves packages that are half there.

Whoever changes packages takes it first (dpkg(1), ``--no-act`` aside; doc/frontend.txt of dpkg's source), so also the timers of
apt, which may come while a node is on probation.
"""

from __future__ import annotations

import fcntl
import os
import struct
import time

from .._errors import KupError
from .._files import read_text

PATH = "/var/lib/dpkg/lock-frontend"
#: Seconds for which others may be at work. Large packages need minutes; the controller waits longer.
PATIENCE = 180

_PAUSE = 1.0
# struct flock of fcntl(2): type, whence, start, length, pid.
_FLOCK = "hhqqi"


class PackagesLock:
    """The lock, of this process. A node without dpkg has none."""

    def __init__(self):
        self._descriptor = None

    def take(self, patience=PATIENCE):
        """Wait for the lock.

        :raises KupError: others still hold it after ``patience`` seconds.
        """
        if self._descriptor is not None or not os.path.isdir(os.path.dirname(PATH)):
            return
        descriptor = os.open(PATH, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o640)
        until = time.monotonic() + patience
        try:
            while not _locked(descriptor):
                if time.monotonic() >= until:
                    raise KupError(
                        f"{_holder(descriptor)} has been changing packages of this node for {patience} s ({PATH} is held), expected nobody; "
                        "wait for its end, and update the node again."
                    )
                time.sleep(_PAUSE)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def release(self):
        """Let others change packages; no error if it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _locked(descriptor):
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _holder(descriptor):
    """Who holds it, as words of a sentence."""
    asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    pid = struct.unpack(_FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))[-1]
    name = read_text(f"/proc/{pid}/comm", "").strip() if pid > 0 else ""
    return f"The process {name}[{pid}]" if name else "Another process"
