# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The watch: the node repeats the gate's checks while a kernel is on probation, and goes back by itself if they fail."""

from __future__ import annotations

import json
import os
import sys

from .._boot import kernels
from .._engines import pending_memory
from .._errors import KupError
from .._files import make_directory, read_text, write_file
from .._paths import BOOT, CHECKS, RUN, STATE
from .._system.units import Unit
from . import gate, service
from . import record as records

#: Kinds of checks, as `gate.judge` takes them.
KINDS = ("units", "ports", "commands", "uris", "numbers")

_IN_A_ROW = 3  # an application may be busy for a moment
_TRIES = 20  # each may freeze the applications, and fail
_COUNT = RUN + "/watch"


def save(checks):
    """Save the checks of the watch: a dict with the keys `KINDS`, a list each."""
    make_directory(STATE)
    write_file(CHECKS, json.dumps({kind: checks[kind] for kind in KINDS}))


def _note_ended(record):
    """Note in the boot plan which units have ended or run anew: after a power cut their checkpoint must not come back (files/node/boot/restore-unit)."""
    for name in record.units:
        path = f"{BOOT}/{record['CHECKPOINT']}/ended-{name}"
        if gate.runs_anew(Unit(name)) and not os.path.exists(path):
            write_file(path, "")


def look():
    """Run the checks once. Several failures in a row make the node go back."""
    record = records.load()
    checks = json.loads(read_text(CHECKS, "null"))
    if record["PHASE"] != "probation" or record["KERNEL_NEW"] != kernels.running():
        return
    _note_ended(record)
    if pending_memory.units() or not checks:
        return
    # The gate judges once how far a number may drop. On a probation of hours an application may drop entries for its own reasons.
    numbers = [{**number, "at_least": 0.0} for number in checks["numbers"]]
    failures, _numbers = gate.judge(**{**checks, "numbers": numbers})
    times = int(read_text(_COUNT, "0")) + 1 if failures else 0
    write_file(_COUNT, str(times))
    if times and times % _IN_A_ROW == 0 and times <= _IN_A_ROW * _TRIES:
        try:
            service.go_back(f"its own checks failed {times} times in a row: {' '.join(failures)}")
        except KupError as error:  # another operation may be under way; the next run comes soon
            sys.stderr.write(f"kup: {error}\n")
