# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Whether a path leads where root wants: whoever may write in a directory on its way can put a link or another directory there."""

from __future__ import annotations

import os
import stat

_LINKS = 40  # path_resolution(7)


def is_roots_way(path):
    """Whether only root can change where this absolute path leads; what is there, if anything, may be anybody's."""
    here, left, links = "/", path.split("/"), 0
    while left:
        if not _is_roots(os.stat(here)):
            return False
        there = os.path.normpath(os.path.join(here, left.pop(0)))
        try:
            status = os.lstat(there)
        except (FileNotFoundError, NotADirectoryError):
            return True
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(there)
            links += 1
            if links > _LINKS:
                return False
            left = target.split("/") + left
            there = "/" if target.startswith("/") else here
        here = there
    return True


def is_roots_own(path):
    """The same, and nobody else may write to what is there. Sockets and devices have nothing to be written into."""
    try:
        return is_roots_way(path) and _is_roots(os.stat(path))
    except FileNotFoundError:
        return True


def _is_roots(status):
    has_content = stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)
    return not has_content or (status.st_uid == 0 and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
