# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The rehearsal of the dump, hours before the switch: each unit is really dumped, by the steps of the switch, and goes on.

Nothing can be restored from it: the content of memory is left out (`_engines.rehearsal`), and the images are removed at once. What CRIU
refuses is kept on the node, so that `preflight` knows it as long as the same process runs with the same CRIU and kernel.
"""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass

from .. import _again as again
from .._blocker import Blocked, about
from .._boot import kernels
from .._criu import command as criu_command
from .._engines import rehearsal as dumps
from .._errors import KupError
from .._files import make_directory, read_text, write_file
from .._paths import REHEARSAL_IMAGES, REHEARSALS, STATE
from .._system.processes import Process
from .._system.units import Unit, full_names
from . import checkpoints, checks, fingerprint, network_lock, pairs, timeline, undo, watchdogs
from . import record as records

#: Verdicts: CRIU can dump the unit; it cannot; that is not known.
PASSED, REFUSED, SKIPPED = "passed", "refused", "skipped"

_LAST_BREATH = 1  # seconds in which systemd notices that a process has ended


def rehearse(names, limit):
    """Dump the units ``names``, one after the other, and let each go on.

    :param limit: seconds that a freeze may take.
    :returns: dict unit → dict with ``verdict``, ``sentence`` (why not passed) and ``frozen_s``.
    :raises KupError: the rehearsal could not be made, or a unit cannot be moved at all.
    """
    record = records.load()
    if record.unfinished and record["PHASE"] != "prepared":
        raise KupError(
            f"This node is in phase {record['PHASE']!r} of an update, expected none under way; rehearse after its end."
        )
    shutil.rmtree(REHEARSAL_IMAGES, ignore_errors=True)  # left by one that was cut off
    units = [Unit(name) for name in full_names(names)]
    lacking = dumps.lacking() or fingerprint.lacking()
    results = {}
    for unit in units:
        results[unit.name] = _rehearse(unit, units, limit, lacking)
        _note(unit, results[unit.name])
    return results


def _rehearse(unit, beside, limit, lacking):
    return again.settled(
        lambda: _rehearse_once(unit, beside, limit, lacking), lambda result: result["verdict"] == REFUSED
    )


def _rehearse_once(unit, beside, limit, lacking):
    checkpoint = dumps.Rehearsal(unit, f"{REHEARSAL_IMAGES}/0-{unit.name}", records.Record(), limit)
    checkpoints.examine([checkpoint], beside)
    reason = _why_not(checkpoint, lacking)
    if reason:
        return _result(SKIPPED, f"The dump of {unit.name} is not rehearsed: {reason}.")
    try:
        failure = _dump(checkpoint, beside)
    finally:
        shutil.rmtree(REHEARSAL_IMAGES, ignore_errors=True)
    _check_alive(checkpoint)
    return _judge(checkpoint, failure)


def _why_not(checkpoint, lacking):
    """Why the unit is not to be frozen for a rehearsal; empty: it is."""
    if lacking:
        return lacking
    unit, limit, forecast = checkpoint.unit, checkpoint.limit, checkpoint.freeze_forecast()
    if forecast > limit:
        return (
            f"with {unit.rss >> 20} MiB of memory it may be frozen for {forecast:.1f} s, expected {limit:g} s at most; "
            "raise kup_rehearse_max"
        )
    return ""


@dataclass(frozen=True)
class _Failure:
    """``refused``: it is the unit that cannot be dumped; else the rehearsal itself has failed."""

    sentence: str
    refused: bool


def _dump(checkpoint, beside):
    """Dump the unit, and let it go on; returns a `_Failure`, or None. Parameter ``beside``: the `Unit`s that travel with it."""
    complete = False
    with undo.Stack() as undos:
        # In the order of `switch`: the tree runs before packets flow and before its watchdog counts.
        undos.push_undo(watchdogs.release)
        undos.push_undo(network_lock.release)
        undos.push_undo(checkpoint.resume)
        watchdogs.extend([checkpoint.unit])
        try:
            checkpoints.start([checkpoint])
            checkpoints.freeze([checkpoint], checkpoint.limit)
            complete = True
            pairs.refuse_strangers(checkpoint, beside)
            fingerprint.record(checkpoints.trees([checkpoint]), checkpoint.directory)
        except Blocked:
            raise
        except KupError as error:
            # A process that cannot be asked, because another traces it, cannot be dumped either.
            refused = complete or checkpoint.refused or checkpoint.attributes is None
            return _Failure(str(error), refused)
    return None


def _check_alive(checkpoint):
    """:raises KupError: the unit has not survived; a CRIU that was killed leaves its code in the processes."""
    unit = checkpoint.unit
    if checkpoint.killed:
        time.sleep(_LAST_BREATH)
    now = Unit(unit.name)
    if now.main_pid != unit.main_pid:
        raise KupError(
            f"{unit.name} has main process {now.main_pid} after the rehearsal of its dump, expected {unit.main_pid}; look at its journal."
        )


def _judge(checkpoint, failure):
    name, frozen = checkpoint.unit.name, checkpoint.frozen
    if not failure:
        return _result(PASSED, "", frozen)
    if failure.refused:
        return _result(REFUSED, failure.sentence, frozen)
    if frozen > checkpoint.limit:
        return _result(
            SKIPPED,
            f"The rehearsal of the dump of {name} was ended after {frozen:.1f} s, expected {checkpoint.limit:g} s at most; "
            "raise kup_rehearse_max.",
            frozen,
        )
    raise KupError(failure.sentence)


def _result(verdict, sentence, frozen=0.0):
    return {"verdict": verdict, "sentence": sentence, "frozen_s": round(frozen, 3)}


def _identity(unit):
    """What a verdict holds for: dict of text."""
    return {
        "boot": timeline.boot_id(),
        "main_pid": str(unit.main_pid),
        "started": Process(unit.main_pid).started,
        "criu": criu_command.version(),
        "kernel": kernels.running(),
    }


def _note(unit, result):
    make_directory(STATE)
    write_file(REHEARSALS, json.dumps({**_kept(), unit.name: {**result, **_identity(unit)}}))


def _kept():
    """What the last rehearsal of each unit has shown: dict unit → dict; empty for what is no such file."""
    try:
        kept = json.loads(read_text(REHEARSALS, "{}"))
    except ValueError:
        return {}
    return kept if isinstance(kept, dict) else {}


def blockers(unit):
    """What the last rehearsal of an active `Unit` stands for: `Blocker`s. Another process, CRIU or kernel may do better."""
    kept = _kept().get(unit.name, {})
    if kept.get("verdict") != REFUSED or kept.get("main_pid") != str(unit.main_pid):
        return []
    try:
        same = all(kept.get(key) == value for key, value in _identity(unit).items())
    except KupError:  # no CRIU
        return []
    return about(checks.dump_refused(kept["sentence"]), unit=unit.name) if same else []


def refusals(results):
    """`Blocker`s of what `rehearse` returned."""
    return [
        blocker
        for name, result in results.items()
        if result["verdict"] == REFUSED
        for blocker in about(checks.dump_refused(result["sentence"]), unit=name)
    ]
