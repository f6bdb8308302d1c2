# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Memory that a child process finds empty (``MADV_WIPEONFORK``, see madvise(2)).

Libraries keep the state of random numbers there, so that parent and child do not draw the same ones: getrandom(3) of glibc from 2.41 on
kernels from 6.11 does, in every process. CRIU before 4.2 makes ordinary memory of it. ``boot/N/attributes-UNIT`` then has a line
``PROCESS wipe-on-fork START-END`` for each of these mappings.

Only /proc/PID/smaps tells, and the kernel walks the whole memory for it. So it is read before the freeze, and in the freeze once more for those
processes only that have other mappings than then.
"""

from __future__ import annotations

import contextlib

from .._files import digest
from .._system import smaps

NAME = "wipe-on-fork"
# proc_pid_smaps(5)
_FLAG = b"wf"


def look(processes):
    """Of each of these `Process`es, before the freeze: dict pid → what `lines` wants to know later."""
    return {process.pid: (_mappings(process), _ranges(process)) for process in processes}


def lines(before, processes):
    """The lines of these `Process`es, while the tree is frozen.

    :param before: what `look` has returned.
    """
    for process in processes:
        mappings, ranges = before.get(process.pid, (None, []))
        for each in ranges if mappings == _mappings(process) else _ranges(process):
            yield f"{process.pid} {NAME} {each}"


def _mappings(process):
    """A digest of the process's list of mappings; None of one that has ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return digest(f"{process.path}/maps")
    return None


def _ranges(process):
    return list(smaps.flagged(f"{process.path}/smaps", _FLAG))
