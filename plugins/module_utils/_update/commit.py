# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The end of probation: the new kernel becomes the one that the node boots."""

from __future__ import annotations

from .._boot import crash_kernel, first_process, grub, kernels, panic
from .._engines import pending_memory
from .._errors import KupError
from .._run import run
from . import gate, leftovers, timeline
from . import record as records


def commit(dry=False):
    """Keep the new kernel: from here on the boot loader starts it, and nothing falls back by itself.

    :param dry: only say what would be done.
    :returns: whether anything was changed (a committed node stays as it is).
    :raises KupError: the node is not on probation on the new kernel.
    """
    record = records.load()
    running = kernels.running()
    if record["PHASE"] == "committed" and record["KERNEL_NEW"] == running:
        return False
    if record["PHASE"] != "probation" or record["KERNEL_NEW"] != running:
        raise KupError(
            f"This node is in phase {record['PHASE'] or 'none'!r} on kernel {running}, expected 'probation' on "
            f"{record['KERNEL_NEW'] or 'a new kernel'}; there is nothing to commit."
        )
    pending_memory.refuse()
    if dry:
        return True
    records.save(record)  # if the record cannot be written, all stays as it is: deadline, watch, boot loader
    # Before the record, which no later commit would come back from. For a moment systemd answers nobody.
    first_process.leave_to_systemd()
    # A commit without the gate's judgement may keep units that the gate would have refused.
    data = record.lose(gate.lost_state(record))
    crash_kernel.disarm(record)  # first: a later panic must not take the node back
    panic.put_back(record["PANIC"])  # before the boot default is the new kernel
    grub.unpin(record["KERNEL_NEW"])
    timeline.mark("committed")
    # For the forecast of the next update.
    record["START_SECONDS"] = timeline.start(timeline.events()) or record["START_SECONDS"]
    records.advance(record, "committed", data=data)
    # After the record: if this ends half-way, the deadline still takes the node back. Meanwhile the node's lock keeps both out.
    _end_probation()
    leftovers.clean_up(record)
    return True


def _end_probation():
    run(["systemctl", "stop", "kup-deadline.timer", "kup-deadline.service"])
    # A node without a watch has none of these. After the commit a shutdown is one like any other.
    run(["systemctl", "stop", "kup-watch.timer", "kup-watch.service", "kup-shutdown.service"], check=False)
    # A service that has used up its tries, or was stopped at work, counts as failed.
    run(["systemctl", "reset-failed", "kup-deadline.service", "kup-watch.service", "kup-crash.service"], check=False)
