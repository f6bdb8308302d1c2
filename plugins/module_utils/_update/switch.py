# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Freeze, dump, record, kexec: the way from running applications to the next kernel, on the node alone.

The same steps lead to the new kernel and back to the old one. Until the kexec everything can be undone: CRIU holds the frozen trees
in its post-dump stage, and resumes them when it is told to.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time

from .. import _again as again
from .._boot import first_process, grub, kernels, kexec, spare_devices
from .._engines import pending_memory, registry
from .._errors import KupError, PassingError
from .._files import write_file
from .._paths import MEMORY
from .._system.units import Unit
from . import (
    boot_plan,
    checkpoints,
    disk_checkpoint,
    fingerprint,
    gate,
    leftovers,
    limits,
    network_lock,
    packages_lock,
    pairs,
    parking,
    timeline,
    undo,
    watchdogs,
)
from . import record as records

_LAST_BREATH = 1  # seconds in which systemd notices that a process has ended
_DEVICES = 30  # seconds for drivers that let go of devices, or look after them again


def depart(record, target, phase):
    """Take the record's units to kernel ``target``; returns only by raising.

    :param phase: the record's phase once the checkpoint is complete (``switching`` or ``returning``).
    :raises KupError: the switch was given up; the applications run on as before, on this kernel.
    """
    if not record.units:
        raise KupError(
            "The record names no unit, expected at least one; nothing may be left behind, so this node keeps its kernel."
        )
    before, frozen = record["PHASE"], 0.0
    for left in reversed(range(again.TRIES)):
        attempt = _Attempt(record, target, phase, before)
        try:
            with undo.Stack() as undos:
                attempt.push_undos(undos)
                attempt.run()
        except PassingError as error:
            frozen += attempt.frozen()
            if left and attempt.may_be_repeated(frozen):
                _tell(f"Once more: {error}")
                continue
            attempt.note_failure(error)
            raise
        except BaseException as error:  # whatever it was: the applications run again, and the record has to say so
            attempt.note_failure(error)
            raise


def _tell(sentence):
    """Write into the journal. A journal that is away stops no switch."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.write(f"{sentence}\n")
        sys.stdout.flush()


class _Attempt:
    """One attempt of `depart`. ``before``: the record's phase before the first one."""

    def __init__(self, record, target, phase, before):
        self._record, self._target, self._phase = record, target, phase
        self._before = before
        self._engine = registry.ENGINES[record["ENGINE"]]
        self._checkpoints, self._disk_checkpoint = [], None
        self._began, self._patience = None, math.inf
        self._packages = packages_lock.PackagesLock()
        self._parking = parking.Parking(record["PARK_CONNECTIONS"] == "True")
        self._spare = spare_devices.SpareDevices(record["QUIESCE_DEVICES"] == "True")

    def push_undos(self, undos):
        """Push what undoes `run`, however far it came. The undo steps run from the last line here to the first."""
        # Last: only then nothing stands any more.
        undos.push_undo(lambda: timeline.mark("given-up"))
        undos.push_undo(self._packages.release)
        if self._phase == "switching":  # on probation it says how this boot began
            undos.push_undo(first_process.forget)
        undos.push_undo(lambda: self._spare.take_back(_DEVICES))
        # Until a tree runs again, its watchdog would end it.
        undos.push_undo(watchdogs.release)
        undos.push_undo(self._parking.go_on)
        # After the trees: a packet must not meet a connection in repair mode.
        undos.push_undo(network_lock.release)
        undos.push_undo(self._parking.undo)
        undos.push_undo(self._resume)
        undos.push_undo(self._engine.give_up)
        # First: if this process is killed before the record is right, files/node/switch/clean-up jumps into a loaded kernel.
        undos.push_undo(kexec.unload)

    def frozen(self):
        """For how many seconds the applications stood in this attempt, which is undone by now."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    def may_be_repeated(self, frozen):
        """Whether another attempt may follow one that a `PassingError` has ended, and which is undone already.

        :param frozen: seconds for which the applications stood so far: they do not stand longer than they may at once.
        """
        if frozen > self._patience / 2:
            return False
        # Also lets systemd notice that a process has ended: what would be frozen next is then another one.
        time.sleep(again.PAUSE)
        with contextlib.suppress(KupError, OSError):  # whoever cannot look does not repeat it
            return not _replaced(self._taken())
        return False

    def _resume(self):
        for each in self._checkpoints:
            undo.attempt(each.resume)

    def run(self):
        """Do all steps."""
        pending_memory.wait(checkpoints.PATIENCE)
        self._keep_packages_whole()
        if self._phase == "switching":
            records.advance(self._record, "checkpointing")
        watchdogs.extend([Unit(name) for name in self._record.units])
        number = self._take_disk_checkpoint(int(self._record["CHECKPOINT"] or 0) + 1)
        plan = self._prepare(number)
        data = self._lost() or ""
        os.sync()  # what other programs have dirtied is written while the applications still serve
        self._freeze(plan)
        self._describe(number)
        os.sync()
        # After all that took time, and before the record says so: the dumps are still the state of the applications.
        for each in self._checkpoints:
            each.check()
        if self._before != "probation":  # what a committed update has lost was told then
            self._record.update(FAILED_UNITS="", FRESH_UNITS="")
        records.advance(self._record, self._phase, self._record["REASON"], data)
        kexec.execute()

    def _keep_packages_whole(self):
        """Have nobody change packages until the jump. A way back does not wait for ever: packages can be repaired."""
        try:
            self._packages.take()
        except KupError as error:
            if self._phase == "switching":
                raise
            _tell(f"Not waiting any longer: {error}")

    def _lost(self):
        """Note which units the checkpoint has without the state of before the update; returns what ``DATA`` is then, None for no loss."""
        return self._record.lose(gate.lost_state(self._record)) if self._before == "probation" else None

    def _take_disk_checkpoint(self, number):
        """Take the disk checkpoint with this ``number``, if there is to be one; returns the next free number."""
        if not self._record["PPP_DISK_CHECKPOINT"] or self._before == "probation":  # which has one
            return number
        self._disk_checkpoint = disk_checkpoint.DiskCheckpoint(self._record, number)
        self._disk_checkpoint.take()
        return number + 1

    def _prepare(self, number):
        """Load the kernel, copy what can be copied before the freeze, and begin the boot plan."""
        if self._spare.let_go():
            timeline.mark("quiesce")
        self._checkpoints += checkpoints.create(self._record, self._record["ENGINE"], number)
        if self._phase == "switching":  # again: what units need may have changed
            self._record["FIRST_PROCESS"] = first_process.prepare(kexec.place(self._target))
        frames = self._engine.load(self._record, self._target)
        checkpoints.pre_copy(self._checkpoints)
        # Again: a unit may have been started anew, or have set another time.
        watchdogs.extend([each.unit for each in self._checkpoints])
        limits.extend(self._record, self._checkpoints)
        self._await_devices()
        return boot_plan.Plan(number, self._checkpoints, self._record, frames)

    def _await_devices(self):
        """Wait for the drivers that let go of devices. The jump would wait for one that hangs, and the applications would stand meanwhile."""
        late = self._spare.wait(_DEVICES)
        if not late:
            return
        said = f"The drivers of {', '.join(late)} have not let go of them within {_DEVICES} s (kup_quiesce_devices)"
        if self._phase == "switching":
            raise KupError(
                f"{said}, and the jump would wait for them; look at the kernel's log, or do without kup_quiesce_devices."
            )
        _tell(f"{said}; the jump waits for them.")

    def _freeze(self, plan):
        """Freeze and dump all units, and complete the boot plan."""
        self._patience = limits.freeze(self._record, self._checkpoints)
        checkpoints.start(self._checkpoints)
        self._parking.look([each.unit for each in self._checkpoints])
        checkpoints.quiet(self._checkpoints)
        self._began = time.monotonic()
        timeline.mark("freeze")
        checkpoints.freeze(self._checkpoints, self._patience, is_last=True, park=self._parking.begin)
        timeline.mark("dumped")
        self._engine.seal(self._checkpoints)
        trees = checkpoints.trees(self._checkpoints)
        plan.complete(*checkpoints.frozen(trees))
        plan.note_trees(self._checkpoints)
        pairs.take(self._checkpoints, trees, plan.directory)
        fingerprint.record(trees, plan.directory)

    def _describe(self, number):
        """Name the checkpoints in the record (not saved), and write what the report says of them."""
        self._record.update(CHECKPOINT=str(number), BYTES=str(sum(each.bytes for each in self._checkpoints)))
        statistics = checkpoints.statistics(self._checkpoints)
        if self._disk_checkpoint:
            self._record.update(DISK_CHECKPOINT=str(self._disk_checkpoint.number))
            for name, more in self._disk_checkpoint.statistics.items():
                statistics[name]["backstop"] = more
        write_file(MEMORY, json.dumps(statistics))
        timeline.mark("planned")

    def note_failure(self, error):
        """Record that the switch was given up because of ``error``; everything is undone already."""
        taken = self._taken()
        # A way back that was given up leaves everything as it was, and probation needs its checkpoint.
        if self._before != "probation":
            # Before the record, which needs disk space: the disk may be full.
            for each in taken:
                each.discard()
        ended = _ended(taken)
        reason = f"{error}; that has ended {', '.join(ended)}" if ended else str(error)
        data = self._record.lose(ended) or "running"
        records.advance(self._record, phase_after_failure(self._before), reason, data)

    def _taken(self):
        return self._checkpoints + (self._disk_checkpoint.checkpoints if self._disk_checkpoint else [])


def phase_after_failure(before):
    """The record's phase after a switch that was given up, from its phase ``before`` the switch.

    A failed way back leaves the node where it was; a failed update is over.
    """
    return before if before in records.RETURNABLE else "aborted"


def _ended(checkpoints):
    """Names of the units that did not survive a dump which was killed: the code that CRIU had put into a process traps there."""
    if not any(each.killed for each in checkpoints):
        return []
    time.sleep(_LAST_BREATH)
    return _replaced(checkpoints)


def _replaced(checkpoints):
    """Names of the units whose main process is another one than that of the checkpoint."""
    return sorted({each.unit.name for each in checkpoints if Unit(each.unit.name).main_pid != each.unit.main_pid})


def blocker(record, phases):
    """Why this node cannot go back to its old kernel: a sentence, or None.

    :param phases: the phases with a way back, `record.UNDECIDED` or `record.RETURNABLE`.
    """
    running = kernels.running()
    if record["PHASE"] not in phases or record["KERNEL_NEW"] != running:
        return (
            f"This node is in phase {record['PHASE'] or 'none'!r} on kernel {running}, expected "
            f"{' or '.join(map(repr, phases))} on {record['KERNEL_NEW'] or 'a new kernel'}; there is no way back."
        )
    preserved = f"{kexec.place(record['KERNEL_OLD'])}/staged"
    if not os.path.exists(preserved):
        return (
            f"The kernel {record['KERNEL_OLD']} is not preserved any more ({preserved} expected); "
            "update the node to that kernel instead."
        )
    return None


def go_back(reason, phases):
    """Take the units back to the old kernel, with a new checkpoint.

    :param phases: see `blocker`.
    :raises KupError: there is no way back, or it was given up; the applications run on as before, on this kernel.
    """
    record = records.load()
    sentence = blocker(record, phases)
    if sentence:
        raise KupError(sentence)
    kexec.unload()
    if record["PHASE"] == "committed":
        _leave_committed(record, reason)
    else:
        _return(record, reason)


def _leave_committed(record, reason):
    """`_return` from a committed kernel, whose default the boot loader has already."""
    default = grub.remember()
    try:
        record["DISK_CHECKPOINT"] = ""  # removed with the images
        grub.pin(record["KERNEL_OLD"])  # which restores if the power fails on the way
        _return(record, reason)
    except BaseException as error:
        grub.recall(default)
        records.advance(record, "committed", str(error))
        leftovers.clean_up(record)
        raise


def _return(record, reason):
    record["REASON"] = records.one_line(reason)
    records.save(record)
    depart(record, record["KERNEL_OLD"], "returning")
