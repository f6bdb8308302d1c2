# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""System V objects of a unit that cannot be carried."""

from __future__ import annotations

from .._blocker import check
from .checks import NO_SHM


@check
def sysv_memory(segment):
    """A process has System V shared memory attached in a way that CRIU cannot repeat, or shares it with others."""
    reasons = (
        (segment.foreign, "is in an IPC namespace of the unit's own"),
        (segment.huge, "has huge pages"),
        (not segment.whole, "is attached in part only"),
        (segment.executable, "is executable"),
        (
            segment.sealed,
            "could not be made again, because /proc/sys is read-only for the unit (ProtectKernelTunables=)",
        ),
        (segment.creator, "was made by another user or group than its owner or root"),
        (segment.holder, f"is attached to process {segment.holder} as well, which is none of the unit's"),
        (
            segment.twin,
            f"is one of a node with a segment of the number of {segment.twin}, which CRIU takes for the same",
        ),
    )
    for found, why in reasons:
        if found:
            yield f"the System V shared memory segment {segment.number} of process {segment.process}", why, NO_SHM
            return


@check
def sysv_semaphores(number, undoer):
    """A process may have changes of System V semaphores to undo at its end (SEM_UNDO), which the kernel does not tell."""
    if undoer:
        yield (
            f"the System V semaphores {number}",
            f"may change when process {undoer} ends (SEM_UNDO, or threads), which cannot be carried",
            "let it do without SEM_UNDO and without threads, or use POSIX semaphores",
        )


@check
def sysv_size(what, size, most):
    """System V queues and unattached segments of a unit, or segments of others beside an attached one, are large: they are copied in the freeze."""
    if size > most:
        yield (
            what,
            f"take {size >> 20} MiB, which is copied while the application stands, expected {most >> 20} MiB at most",
            "remove what nobody needs (ipcs shows it, ipcrm removes it)",
        )
