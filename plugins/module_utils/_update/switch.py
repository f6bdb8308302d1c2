# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Freeze, dump, write the transaction, kexec: the local chain from a running application to the next kernel.

The same chain leads to the new kernel and back to the old one. Until the jump everything can be taken back: CRIU holds
the frozen trees in its post-dump stage and lets them run again when told so.
"""

from __future__ import annotations

import contextlib
import json
import os
import time

from .._boot import grub, kernels, kexec
from .._engines import pending_memory, registry
from .._errors import KupError
from .._files import write_file
from .._paths import MEMORY
from .._system.units import Unit
from . import boot_plan, checkpoints, disk_checkpoint, network_lock, timeline, transaction
from . import record as records

_LAST_BREATH = 1  # seconds in which systemd hears of a process that has ended


def depart(record, target, phase):
    """Take the record's units to kernel ``target``; returns only by raising.

    :param phase: the record's phase once the checkpoint is complete (``switching`` or ``returning``).
    :raises KupError: it was given up; the applications run on as before, on this kernel.
    """
    number = int(record["CHECKPOINT"] or 0) + 1
    before = record["PHASE"]
    engine = registry.ENGINES[record["ENGINE"]]
    taken, on_disk = [], None
    try:
        pending_memory.wait(checkpoints.PATIENCE)
        if phase == "switching":
            records.advance(record, "checkpointing")
        if record["PPP_DISK_CHECKPOINT"] and before != "probation":  # which has one
            on_disk = disk_checkpoint.DiskCheckpoint(record, number)
            on_disk.take()
            number += 1
        taken += checkpoints.create(record, record["ENGINE"], number)
        frames = engine.load(record, target)
        checkpoints.pre_copy(taken)
        plan = boot_plan.Plan(number, taken, record, frames)
        data = "fresh" if before == "probation" and transaction.forgetful(record) else ""
        os.sync()  # what others have dirtied is written while the applications still serve
        checkpoints.start(taken)
        timeline.mark("freeze")
        checkpoints.freeze(taken)
        timeline.mark("dumped")
        engine.seal(taken)
        plan.complete(*checkpoints.frozen(taken))
        record.update(CHECKPOINT=str(number), BYTES=str(sum(each.bytes for each in taken)))
        statistics = checkpoints.statistics(taken)
        if on_disk:
            record.update(DISK_CHECKPOINT=str(on_disk.number))
            for name, more in on_disk.statistics.items():
                statistics[name]["backstop"] = more
        write_file(MEMORY, json.dumps(statistics))
        timeline.mark("planned")
        os.sync()
        for each in taken:
            each.check()
        records.advance(record, phase, record["REASON"], data)
        kexec.execute()
    except BaseException as error:
        # The kernel first: files/node/given-up jumps into what is loaded, if this is killed before the record is right.
        for undo in (kexec.unload, engine.give_up, *(each.resume for each in taken), network_lock.release):
            with contextlib.suppress(KupError, OSError):  # whatever cannot be undone, the rest can
                undo()
        timeline.mark("given-up")
        taken += on_disk.checkpoints if on_disk else ()
        # The way back that was given up leaves what there was, and probation needs its checkpoint.
        if before != "probation":
            # First: the disk may be full, and the record needs room.
            for each in taken:
                each.discard()
        ended = _ended(taken)
        reason = f"{error}; that has ended {', '.join(ended)}" if ended else str(error)
        data = "fresh" if ended else "running"
        records.advance(record, before if before in records.RETURNABLE else "aborted", reason, data)
        raise


def _ended(checkpoints):
    """Names of the units that did not survive a dump which was killed: what CRIU had put into a process runs on there, into a trap."""
    if not any(each.killed for each in checkpoints):
        return []
    time.sleep(_LAST_BREATH)
    return sorted({each.unit.name for each in checkpoints if Unit(each.unit.name).main_pid != each.unit.main_pid})


def obstacle(record, phases):
    """Why this node cannot go back to its old kernel: a sentence, or None.

    :param phases: those that it may be left from, `record.UNDECIDED` or `record.RETURNABLE`.
    """
    running = kernels.running()
    if record["PHASE"] not in phases or record["KERNEL_NEW"] != running:
        return (
            f"This node is in phase {record['PHASE'] or 'none'!r} on kernel {running}, expected "
            f"{' or '.join(map(repr, phases))} on {record['KERNEL_NEW'] or 'a new kernel'}; there is no way back."
        )
    preserved = f"{kexec.place(record['KERNEL_OLD'])}/staged"
    if not os.path.exists(preserved):
        return f"The kernel {record['KERNEL_OLD']} is preserved no more ({preserved} expected); update the node to it instead."
    return None


def go_back(reason, phases):
    """Fall back with a new checkpoint.

    :param phases: see `obstacle`.
    :raises KupError: there is no way back, or it was given up; the applications run on as before, on this kernel.
    """
    record = records.load()
    sentence = obstacle(record, phases)
    if sentence:
        raise KupError(sentence)
    kexec.unload()
    committed = record["PHASE"] == "committed"
    default = grub.remember() if committed else None
    try:
        if committed:
            record["DISK_CHECKPOINT"] = ""  # it went with the images
            grub.pin(record["KERNEL_OLD"])  # who restores if the power fails on the way
        record["REASON"] = records.one_line(reason)
        records.save(record)
        depart(record, record["KERNEL_OLD"], "returning")
    except BaseException as error:
        if committed:
            grub.recall(default)
            records.advance(record, "committed", str(error))
            transaction.clean_up(record)
        raise
