# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Directories in memory over which systemd mounts something for one unit.

ProtectHome= hides /run/user, for one. systemd mounts nothing over what is not there, and the early boot has little below /run: the
directories have to be there before the unit's mount namespace is made.
"""

from __future__ import annotations

import os
import stat

from .._system import mountinfo
from .plan import step

# The only places where files/environment makes directories.
_MEMORY = ("/run/", "/dev/shm/", "/tmp/")


def put_plan(plans, units):
    """Write the plan of the directories of these `Unit`s into the `Plans`, if there are any."""
    steps = [each for unit in units if unit.own_mounts for each in _steps(unit)]
    if steps:
        plans.put("2-mount-points", steps)


def _steps(unit):
    node = {row.place for row in mountinfo.of("/proc/self")}
    points = {row.place for row in mountinfo.of(unit.main.path) if row.place.startswith(_MEMORY)} - node
    for path in sorted({above for point in points for above in _way(point)}):
        try:
            seen = os.lstat(path)
        except OSError:
            continue  # it is in the unit's own view only
        if stat.S_ISDIR(seen.st_mode):
            yield step("directory", unit.name, (path, f"{stat.S_IMODE(seen.st_mode):o}", seen.st_uid, seen.st_gid))


def _way(path):
    """The path, and each directory above it but for the first."""
    while path.count("/") > 1:
        yield path
        path = os.path.dirname(path)
