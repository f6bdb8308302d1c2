# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Directories for the temporary files of restored units with ``PrivateTmp=``.

systemd makes such directories in the node's /tmp and /var/tmp, so it starts the unit only once these are mounted and cleaned. A restore
does not wait for that: the boot plan has directories of its own, on the root file system, mounted in their place. A unit that has them
already keeps them.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import tempfile

from .._criu import view
from .._files import read_text
from .._paths import PRIVATE_TMP
from .._system import mountinfo


def provide(main):
    """Make the directories for the restored unit with this main process; returns a list of DIRECTORY:MOUNT-POINT.

    It is empty for a unit without such mounts.
    """
    there = {row.place for row in mountinfo.of(main.path) if view.PRIVATE in row.root}
    kept = {point: _kept(main, point) for point in view.TEMPORARY if point in there}
    missing = [point for point, directory in kept.items() if not directory]
    if missing:
        new = tempfile.mkdtemp(prefix=os.path.basename(PRIVATE_TMP), dir=os.path.dirname(PRIVATE_TMP))
        for point in missing:
            kept[point] = f"{new}/{point.strip('/').replace('/', '-')}"
            os.mkdir(kept[point])
            os.chmod(kept[point], 0o1777)
    return [f"{directory}:{point}" for point, directory in kept.items()]


def _kept(main, point):
    """The directory of the last restore that is mounted at ``point``; None if it is one of systemd's."""
    there = os.stat(f"{main.path}/root{point}")
    for directory in glob.glob(f"{PRIVATE_TMP}*/*"):
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(directory), there):
                return directory
    return None


def remove_unused():
    """Remove the directories that no process has mounted any more."""
    left = glob.glob(f"{PRIVATE_TMP}*")
    if not left:
        return
    mounts = ""
    for path in glob.glob("/proc/[0-9]*/mountinfo"):
        with contextlib.suppress(OSError):  # of a process that has ended
            mounts += read_text(path, "")
    for directory in left:
        if f"/{os.path.basename(directory)}/" not in mounts:
            shutil.rmtree(directory, ignore_errors=True)
