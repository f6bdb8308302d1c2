# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Who takes the lock of a rollout, and where: in a directory that goes away with the run, it would lock nothing. A report there is lost, too."""

from __future__ import annotations

import getpass
import os
import socket
from pathlib import Path

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._files import read_lines

#: Where AWX and ansible-runner put what belongs to one job.
_OF_A_JOB = "/runner"
#: Files that container engines make: podman, docker.
_MARKS = ("run/.containerenv", ".dockerenv")
#: File systems of a root that lives as long as its container, or its boot.
_PASSING = ("overlay", "tmpfs", "rootfs")


def check(place, root="/"):
    """Check kup_lock: a directory on the controller that outlives the run, or empty.

    :param root: the controller's root directory.
    :raises KupError: it is none.
    """
    if not place:
        return
    if not os.path.isabs(place) or not os.path.isdir(place):
        raise KupError(
            f"kup_lock is {place!r}, expected the absolute path of a directory that exists on the controller; make it for its user alone."
        )
    if _passes(place, root):
        raise KupError(
            f"kup_lock is {place!r}, which belongs to this container or job and goes away with it; "
            "expected a directory that all runs share, such as a volume that is mounted from the host."
        )


def report_objection(place, root="/"):
    """Why a report in the directory ``place``, which need not exist, does not outlive the run: a sentence, or empty."""
    if not _passes(place, root):
        return ""
    return (
        f"kup_report_dir is {place!r}, which belongs to this container or job, so that the report goes away with it; "
        "mount a volume and name a directory on it to keep the report."
    )


def _passes(place, root):
    """Whether a directory, or the nearest one above it that there is, goes away with the job or its container."""
    real = Path(os.path.realpath(place))
    there = next(path for path in (real, *real.parents) if os.path.exists(path))
    return Path(_OF_A_JOB) in (real, *real.parents) or _goes_with_container(there, Path(root))


def _goes_with_container(place, root):
    if os.stat(place).st_dev != os.stat(root).st_dev:
        return False
    return any((root / mark).exists() for mark in _MARKS) or _type_of_root(root) in _PASSING


def _type_of_root(root):
    """Type of the file system at "/"; the last line counts, which is mounted over those before it."""
    mounts = [line.split() for line in read_lines(str(root / "proc/self/mounts"))]
    return next((words[2] for words in reversed(mounts) if words[1:2] == ["/"]), "")


def owner():
    """Who runs this, such as "me@controller, AWX job 7"."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container without this user
        name = str(os.getuid())
    # AWX sets both for its jobs.
    job = f", AWX job {os.environ['JOB_ID']}" if "AWX_HOST" in os.environ and "JOB_ID" in os.environ else ""
    return f"{name}@{socket.gethostname()}{job}"
