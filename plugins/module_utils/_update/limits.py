# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Time limits of one update (freeze, restore, deadline of the commit), by what its memory needs: bytes, and the pace that was measured while
they were copied. To that comes what CRIU needs for each process and each connection.

The limits that an operator sets are for applications with little memory. No large one may be given up because it is large.
"""

from __future__ import annotations

import math

# A forecast may be wrong by so much. What has nothing to do with memory is short where there is much of it.
_SLACK = 2
# Seconds of a freeze that have nothing to do with memory: a busy disk.
_LEAST_FREEZE = 30
# Seconds for each, of a slow processor: four times what docs/limits.md has, and more for the processes.
_CONNECTION, _PROCESS = 0.001, 0.01


def freeze(record, checkpoints):
    """Seconds within which all ``checkpoints`` must be complete once their units are frozen."""
    forecast = sum(each.freeze_forecast() + _of_objects(each) for each in checkpoints)
    return int(record["FREEZE_MAX"] or 0) or max(_LEAST_FREEZE, math.ceil(_SLACK * forecast))


def extend(record, checkpoints):
    """Raise the limits of the restore and of the commit in the record (not saved) to what the memory of the ``checkpoints`` needs."""
    # All units share the disk, so each may have to wait for all.
    arrival = sum(each.unit.rss / each.pace for each in checkpoints)
    restore = sum(each.unit.rss / each.pace for each in checkpoints if each.restores_memory)
    restore += sum(map(_of_objects, checkpoints))
    for name, seconds in (("RESTORE_TIMEOUT", restore), ("COMMIT_TIMEOUT", arrival)):
        record[name] = str(max(int(record[name]), math.ceil(_SLACK * seconds)))


def _of_objects(checkpoint):
    """Seconds that CRIU needs for what a unit has, apart from its memory."""
    return of_processes(len(checkpoint.unit.processes)) + len(checkpoint.findings.sockets) * _CONNECTION


def of_processes(count):
    """Seconds that CRIU needs for ``count`` processes, apart from their memory."""
    return count * _PROCESS
