# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Freeze, dump, write the transaction, kexec: the local chain from a running application to the next kernel.

The same chain leads to the new kernel and back to the old one. Until the jump everything can be taken back: CRIU holds
the frozen trees in its post-dump stage and lets them run again when told so.
"""

from __future__ import annotations

import os
import shutil
import time

from . import _bootplan, _hold, _kexec, _movable, _record, _sockets, _timeline
from ._dump import Dump
from ._errors import KupError
from ._files import make_directory
from ._units import Unit

_ACCEPTING = 0.5  # seconds; an application that serves accepts at once
_PATIENCE = 600  # seconds for one dump; a terabyte on a slow disk has no business here


def depart(record, target, phase):
    """Take the record's units to kernel ``target``; returns only by raising.

    :param phase: the record's phase once the checkpoint is complete (``switching`` or ``returning``).
    :raises KupError: it was given up; the applications run on as before, on this kernel.
    """
    number = str(int(record["CHECKPOINT"] or 0) + 1)
    before = record["PHASE"]
    dumps = []
    try:
        parts = _parts(record, number)
        plan = _bootplan.Plan(
            number, parts, timeout=int(record["RESTORE_TIMEOUT"]), commit_timeout=int(record["COMMIT_TIMEOUT"])
        )
        if not _kexec.loaded():
            _kexec.load(target)
        os.sync()  # what others have dirtied is written while the applications still serve
        if phase == "switching":
            _record.advance(record, "checkpointing")
        _freeze(parts, dumps)
        processes = [process for unit, _findings, _images in parts for process in Unit(unit.name).processes]
        plan.complete(
            [socket for process in processes for socket in _sockets.of_process(process)],
            [thread for process in processes for thread in process.threads],
        )
        record.update(CHECKPOINT=number, BYTES=str(sum(dump.bytes for dump in dumps)))
        _timeline.mark("planned")
        os.sync()
        _record.advance(record, phase, record["REASON"])
        _kexec.execute()
    except BaseException as error:
        for dump in dumps:
            dump.let_go()
        _hold.release()
        _timeline.mark("given-up")
        # The way back that was given up leaves a trial; the way forth that was given up leaves nothing to do.
        _record.advance(record, "aborted" if before != "trial" else "trial", str(error))
        raise


def _parts(record, number):
    """(`Unit`, `Findings`, images directory) of each unit of the record, all of them fit to be moved."""
    root = f"{record['IMAGES']}/{record['ID']}"
    make_directory(root)
    parts = [(unit, _examined(unit), f"{root}/{number}-{unit.name}") for unit in map(Unit, record.units)]
    for _unit, _findings, images in parts:
        shutil.rmtree(images, ignore_errors=True)  # of an attempt that was given up
    return parts


def _freeze(parts, dumps):
    """Dump all units at once; returns with all trees frozen and all images complete. Appends to ``dumps`` as it goes."""
    _hold.apply(_hold.ruleset([socket for _unit, findings, _images in parts for socket in findings.sockets]))
    _timeline.mark("freeze")
    _accept_the_last(parts)
    for unit, findings, images in parts:
        dumps.append(Dump(unit, findings, images))
    deadline = time.monotonic() + _PATIENCE
    for dump in dumps:
        dump.wait(deadline)
    _timeline.mark("dumped")


def _accept_the_last(parts):
    """Give the applications time to accept what connected just before the hold: CRIU refuses a listener with a queue."""
    give_up = time.monotonic() + _ACCEPTING
    while time.monotonic() < give_up:
        sockets = [s for unit, _findings, _images in parts for p in unit.processes for s in _sockets.of_process(p)]
        if not any(s.waiting for s in sockets if s.listening and s.protocol.startswith("tcp")):
            return
        time.sleep(0.005)  # the application may need this very processor


def _examined(unit):
    if not unit.active:
        raise KupError(f"{unit.name} is {unit.properties['ActiveState']}, expected active with a main process.")
    findings = _movable.examine(unit)
    if findings.problems:
        raise KupError(findings.problems[0].sentence())
    return findings


def go_back(reason):
    """Fall back: from a trial with a new checkpoint; before the applications ran, with the one there is.

    :raises KupError: there is nothing to go back from, or it cannot be done now.
    """
    record = _record.load()
    if record["PHASE"] != "trial":
        raise KupError(
            f"This node cannot fall back in phase {record['PHASE'] or 'none'!r}, expected 'trial' "
            "(after the new kernel's start and before the commit)."
        )
    record["REASON"] = _record.one_line(reason)
    _record.save(record)
    _kexec.unload()
    depart(record, record["KERNEL_OLD"], "returning")
