# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""How long an update is expected to keep the applications from answering, by what is known before anything is frozen."""

from __future__ import annotations

import contextlib

from .._run import run
from . import limits

# Seconds, of a processor with one instruction in a nanosecond (bench/engines.json): kexec's copy and digest of 60 MB, and
# unpacking, for a kernel that cannot be entered unpacked; systemd up to the first
# restore, for which a node that has never switched has no figure; and CRIU's own start and end, for the dump and the restore of one unit.
_JUMP, _EARLY, _UNIT = 3.0, 2.5, 1.0


def outages(record, engines, verdicts, freeze_target):
    """Seconds from the freeze of the units until they answer, with each engine: dict by name.

    :param record: the node's last; an update that was committed has left in it what the start of its kernel took.
    :param engines: dict name → `base.Engine`.
    :param verdicts: dict of each unit, with ``rss_bytes`` and the number of its ``processes``.
    :param freeze_target: see `base.Engine.memory_forecast`.
    """
    resident = sum(unit["rss_bytes"] for unit in verdicts)
    rest = _start(record) + sum(_UNIT + limits.of_processes(unit["processes"]) for unit in verdicts)
    return {name: round(rest + engine.memory_forecast(resident, freeze_target), 1) for name, engine in engines.items()}


def _start(record):
    """Seconds from the last step of the old kernel to the restore."""
    with contextlib.suppress(ValueError):
        return float(record["START_SECONDS"])
    return _JUMP + _boot() + _EARLY


def _boot():
    """Seconds that the running kernel needed from its start to systemd, an initramfs included."""
    said = run(["systemctl", "show", "--value", "--property=UserspaceTimestampMonotonic"]).stdout.strip()
    return int(said) / 1e6 if said.isdigit() else 0.0
