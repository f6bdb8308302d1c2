# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A complete checkpoint on the disk of applications that go on after it (engine ``ppp``).

A boot to which no page frames were handed over (after a power cut, a panic, a reset) restores it: the applications are as
they were a moment before the switch, without the connections of then. files/node/lib.sh chooses between the two.
"""

from __future__ import annotations

import contextlib
import time

from .._errors import KupError
from . import boot_plan, checkpoints, network_lock


class DiskCheckpoint:
    """``parts``: its checkpoints; ``told``: what the report says of them, dict unit → dict."""

    def __init__(self, record, number):
        """:param number: of the checkpoint, and of its boot plan."""
        self.number = number
        self.parts, self.told = [], {}
        self._record = record

    def take(self):
        """Copy in rounds while the applications serve, freeze them, write the rest, let them go on.

        :raises KupError: it cannot be had; the applications run on.
        """
        self.parts = checkpoints.prepare(self._record, self._record["PPP_DISK_CHECKPOINT"], self.number)
        for part in self.parts:
            # What the peers have seen since is not in it.
            part.keeps_connections = False
        try:
            for part in self.parts:
                part.approach()
            checkpoints.examine(self.parts)  # what was found before has had time to change
            plan = boot_plan.Plan(self.number, self.parts, self._record)
            checkpoints.begin(self.parts)
            began = time.monotonic()
            checkpoints.freeze(self.parts)
            sockets, threads = checkpoints.frozen(self.parts)
            # Nobody needs a way to the peers of connections that end.
            lasting = [each for each in sockets if not (each.protocol.startswith("tcp") and each.connected)]
            plan.complete(lasting, threads)
        finally:
            for undo in (*(part.let_go for part in self.parts), network_lock.release):
                with contextlib.suppress(KupError, OSError):
                    undo()
        paused = round(time.monotonic() - began, 3)
        self.told = {part.unit.name: {**part.told(), "paused_s": paused} for part in self.parts}
