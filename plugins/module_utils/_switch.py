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
import shutil
import time

from . import _bootplan, _engines, _flow, _hold, _kexec, _movable, _record, _sockets, _timeline
from ._errors import KupError
from ._files import make_directory, write_file
from ._paths import MEMORY
from ._units import Unit

_ACCEPTING = 0.5  # seconds; an application that serves accepts at once
_PATIENCE = 600  # seconds for one dump, or for memory to come; a terabyte on a slow disk has no business here


def depart(record, target, phase):
    """Take the record's units to kernel ``target``; returns only by raising.

    :param phase: the record's phase once the checkpoint is complete (``switching`` or ``returning``).
    :raises KupError: it was given up; the applications run on as before, on this kernel.
    """
    number = str(int(record["CHECKPOINT"] or 0) + 1)
    before = record["PHASE"]
    engine = _engines.ENGINES[record["ENGINE"]]
    parts = []
    try:
        _flow.wait(_PATIENCE)
        parts += _parts(record, number)
        if phase == "switching":
            _record.advance(record, "checkpointing")
        frames = engine.load(record, target)
        took_time = [part.approach() for part in parts]
        if any(took_time):
            _examine(parts)  # what was found before has had time to change
        plan = _bootplan.Plan(
            number,
            parts,
            frames=frames,
            timeout=int(record["RESTORE_TIMEOUT"]),
            commit_timeout=int(record["COMMIT_TIMEOUT"]),
        )
        os.sync()  # what others have dirtied is written while the applications still serve
        for part in parts:
            part.approach_again()
        _freeze(parts)
        engine.seal(parts)
        processes = [process for part in parts for process in Unit(part.unit.name).processes]
        plan.complete(
            [socket for process in processes for socket in _sockets.of_process(process)],
            [thread for process in processes for thread in process.threads],
        )
        record.update(CHECKPOINT=number, BYTES=str(sum(part.bytes for part in parts)))
        write_file(MEMORY, json.dumps({part.unit.name: part.told() for part in parts}))
        _timeline.mark("planned")
        os.sync()
        for part in parts:
            part.check()
        _record.advance(record, phase, record["REASON"])
        _kexec.execute()
    except BaseException as error:
        # The kernel first: files/node/given-up jumps into what is loaded, if this is killed before the record is right.
        for undo in (_kexec.unload, engine.give_up, *(part.let_go for part in parts), _hold.release):
            with contextlib.suppress(KupError, OSError):  # whatever cannot be undone, the rest can
                undo()
        _timeline.mark("given-up")
        # The way back that was given up leaves a trial; the way forth that was given up leaves nothing to do.
        if before != "trial":
            for part in parts:
                part.discard()  # first: the disk may be full, and the record needs room
        _record.advance(record, "aborted" if before != "trial" else "trial", str(error))
        raise


def _parts(record, number):
    """The checkpoint of each unit of the record, all of them fit to be moved."""
    root = f"{record['IMAGES']}/{record['ID']}"
    make_directory(root)
    kind = _engines.ENGINES[record["ENGINE"]].Checkpoint
    parts = [kind(unit, f"{root}/{number}-{unit.name}", record) for unit in map(Unit, record.units)]
    _examine(parts)
    for part in parts:
        shutil.rmtree(part.directory, ignore_errors=True)  # of an attempt that was given up
    return parts


def _freeze(parts):
    """Dump all units at once; returns with all trees frozen and all images complete."""
    _hold.apply(_hold.ruleset([socket for part in parts for socket in part.findings.sockets]))
    _timeline.mark("freeze")
    _accept_the_last(parts)
    for part in parts:
        part.freeze()
    deadline = time.monotonic() + _PATIENCE
    for part in parts:
        part.wait(deadline)
    _timeline.mark("dumped")


def _accept_the_last(parts):
    """Give the applications time to accept what connected just before the hold: CRIU refuses a listener with a queue."""
    give_up = time.monotonic() + _ACCEPTING
    while time.monotonic() < give_up:
        sockets = [s for part in parts for p in part.unit.processes for s in _sockets.of_process(p)]
        if not any(s.waiting for s in sockets if s.listening and s.protocol.startswith("tcp")):
            return
        time.sleep(0.005)  # the application may need this very processor


def _examine(parts):
    """Look at each unit as it is now.

    :raises KupError: one cannot be moved.
    """
    for part in parts:
        unit = part.unit = Unit(part.unit.name)
        if not unit.active:
            raise KupError(f"{unit.name} is {unit.properties['ActiveState']}, expected active with a main process.")
        part.findings = _movable.examine(unit)
        if part.findings.problems:
            raise KupError(part.findings.problems[0].sentence())


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
