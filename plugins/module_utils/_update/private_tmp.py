# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Directories for the temporary files of restored units with ``PrivateTmp=``.

systemd makes such directories in the node's /tmp and /var/tmp, so it starts the unit only once these are mounted and cleaned. A restore
does not wait for that. What a unit has on a disk it keeps, mounted in the same place. Instead of what is in memory, the boot plan has
directories of its own, on the root file system.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
import tempfile

from .._files import read_text
from .._paths import PRIVATE_TMP
from .._system import private_places

# systemd's own, with the id of the boot that made them; in a list of mounts all of these characters stand for themselves.
_OF_SYSTEMD = re.compile(r"systemd-private-([0-9a-f]{32})-[\w:.@-]+", re.ASCII)


def provide(unit):
    """Make the directories for a restored `Unit`; returns a list of DIRECTORY:MOUNT-POINT.

    It is empty for a unit without such mounts.
    """
    bound = {place.point: place.directory for place in private_places.of(unit) if place.is_bound}
    missing = [point for point, directory in bound.items() if not directory]
    if missing:
        new = tempfile.mkdtemp(prefix=os.path.basename(PRIVATE_TMP), dir=os.path.dirname(PRIVATE_TMP))
        for point in missing:
            bound[point] = f"{new}/{point.strip('/').replace('/', '-')}"
            os.mkdir(bound[point])
            os.chmod(bound[point], 0o1777)
    return [f"{directory}:{point}" for point, directory in bound.items()]


def remove_unused():
    """Remove the directories that no process has mounted any more: the boot plans' own, and those of systemd of an earlier boot, which
    systemd-tmpfiles has left to the restored units."""
    left = [*glob.glob(f"{PRIVATE_TMP}*"), *_of_earlier_boots()]
    if not left:
        return
    mounts = ""
    for path in glob.glob("/proc/[0-9]*/mountinfo"):
        with contextlib.suppress(OSError):  # of a process that has ended
            mounts += read_text(path, "")
    for directory in left:
        if f"/{os.path.basename(directory)}/" not in mounts:
            shutil.rmtree(directory, ignore_errors=True)


def _of_earlier_boots():
    now = read_text("/proc/sys/kernel/random/boot_id", "").strip().replace("-", "")
    for place in private_places.TEMPORARY:
        for name in os.listdir(place):
            found = _OF_SYSTEMD.fullmatch(name)
            with contextlib.suppress(OSError):  # removed since it was listed
                if found and now and found[1] != now and os.lstat(f"{place}/{name}").st_uid == 0:
                    yield f"{place}/{name}"
