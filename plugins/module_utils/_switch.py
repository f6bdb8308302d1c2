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

from . import _backstop, _bootplan, _checkpoints, _engines, _flow, _hold, _kexec, _record, _timeline
from ._errors import KupError
from ._files import write_file
from ._paths import MEMORY


def depart(record, target, phase):
    """Take the record's units to kernel ``target``; returns only by raising.

    :param phase: the record's phase once the checkpoint is complete (``switching`` or ``returning``).
    :raises KupError: it was given up; the applications run on as before, on this kernel.
    """
    number = int(record["CHECKPOINT"] or 0) + 1
    before = record["PHASE"]
    engine = _engines.ENGINES[record["ENGINE"]]
    parts, backstop = [], None
    try:
        _flow.wait(_checkpoints.PATIENCE)
        if phase == "switching":
            _record.advance(record, "checkpointing")
            if record["PPP_BACKSTOP"]:
                backstop = _backstop.Backstop(record, number)
                backstop.take()
                number += 1
        parts += _checkpoints.prepare(record, record["ENGINE"], number)
        frames = engine.load(record, target)
        took_time = [part.approach() for part in parts]
        if any(took_time):
            _checkpoints.examine(parts)  # what was found before has had time to change
        plan = _bootplan.Plan(number, parts, record, frames)
        os.sync()  # what others have dirtied is written while the applications still serve
        for part in parts:
            part.approach_again()
        _timeline.mark("freeze")
        _checkpoints.freeze(parts)
        _timeline.mark("dumped")
        engine.seal(parts)
        plan.complete(*_checkpoints.frozen(parts))
        record.update(CHECKPOINT=str(number), BYTES=str(sum(part.bytes for part in parts)))
        told = {part.unit.name: part.told() for part in parts}
        if backstop:
            record.update(BACKSTOP=str(backstop.number))
            for name, more in backstop.told.items():
                told[name]["backstop"] = more
        write_file(MEMORY, json.dumps(told))
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
            # First: the disk may be full, and the record needs room.
            for part in [*parts, *(backstop.parts if backstop else ())]:
                part.discard()
        _record.advance(record, "aborted" if before != "trial" else "trial", str(error))
        raise


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
