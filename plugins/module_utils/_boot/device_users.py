# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Device files that somebody uses without holding them for himself alone (O_EXCL), as a mounted file system does."""

from __future__ import annotations

import contextlib
import glob
import os
import stat

from .._files import read_text
from .._run import run

_PROC, _LOOPS = "/proc", "/sys/block/loop*/loop/backing_file"


def numbers():
    """Set of (major, minor) of what processes have open, what loop devices are made of, and what /etc/fstab names: such a file system may be
    mounted as soon as somebody asks for it.
    """
    paths = [read_text(path, "").rstrip("\n") for path in glob.glob(_LOOPS)]
    named = run(["findmnt", "--fstab", "--evaluate", "--noheadings", "--output", "SOURCE"], check=False).stdout
    return _opened() | _of_files(path for path in [*paths, *named.split()] if path.startswith("/"))


def _opened():
    found = set()
    for pid in filter(str.isdigit, os.listdir(_PROC)):
        with contextlib.suppress(OSError):  # it has ended
            found |= _of_files(entry.path for entry in os.scandir(f"{_PROC}/{pid}/fd"))
    return found


def _of_files(paths):
    found = set()
    for path in paths:
        with contextlib.suppress(OSError):
            about = os.stat(path)
            if stat.S_ISBLK(about.st_mode) or stat.S_ISCHR(about.st_mode):
                found.add((os.major(about.st_rdev), os.minor(about.st_rdev)))
    return found
