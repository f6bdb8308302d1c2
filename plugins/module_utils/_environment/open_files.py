# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Which files belong to the memory of a checkpoint: those that its processes write or map, as they were in the freeze.

The boot that restores a unit compares them first (files/node/boot/restore-unit): older memory must not run on newer files.
files/environment/identity.h describes the list, ``boot/N/files-UNIT``.
"""

from __future__ import annotations

from .._paths import RUNTIME
from .._run import run

PROGRAM = RUNTIME + "/environment"


def note(directory, units):
    """Write the lists into ``directory``, a boot plan.

    :param units: dict unit name → (ids of its processes, all of them frozen; its `private_places.Place` s).
    :raises KupError: a process cannot be looked at.
    """
    words = []
    for name, (pids, places) in units.items():
        # Those that stay where they are; what is copied is made anew.
        bound = [word for each in places if each.directory for word in ("--bound", each.point, each.directory)]
        words += ["--unit", name, *bound, *map(str, pids)]
    run([PROGRAM, "note-files", directory, *words])
