# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A complete checkpoint on disk of applications that run on after it (engine ``ppp``).

A boot to which no page frames were handed over (after a power cut, a panic, a reset) restores it: the applications are as
they were a moment before the switch, without the connections of that moment. files/node chooses between the two.
"""

from __future__ import annotations

import time

from . import boot_plan, checkpoints, fingerprint, network_lock, pairs, undo


class DiskCheckpoint:
    """``checkpoints``: one for each unit; ``statistics``: what the report says of them, dict unit → dict."""

    def __init__(self, record, number):
        """:param number: of the checkpoint, and of its boot plan."""
        self.number = number
        self.checkpoints, self.statistics = [], {}
        self._record = record

    def take(self):
        """Copy in rounds while the applications serve, freeze them, write the rest, and resume them.

        :raises KupError: it cannot be taken; the applications run on.
        """
        self.checkpoints = checkpoints.create(self._record, self._record["PPP_DISK_CHECKPOINT"], self.number)
        for each in self.checkpoints:
            # What the peers have seen since is not in it.
            each.keeps_connections = False
        with undo.Stack() as undos:
            undos.push_undo(network_lock.release)  # last
            for each in reversed(self.checkpoints):
                undos.push_undo(each.resume)
            checkpoints.pre_copy(self.checkpoints)
            plan = boot_plan.Plan(self.number, self.checkpoints, self._record)
            checkpoints.start(self.checkpoints)
            began = time.monotonic()
            checkpoints.freeze(self.checkpoints)
            trees = checkpoints.trees(self.checkpoints)
            sockets, threads = checkpoints.frozen(trees)
            # Connections that end need no route to their peers.
            lasting = [each for each in sockets if not (each.protocol.startswith("tcp") and each.connected)]
            plan.complete(lasting, threads)
            plan.note_trees(self.checkpoints)
            pairs.take(self.checkpoints, trees, plan.directory)
            fingerprint.record(trees, plan.directory)
        paused = round(time.monotonic() - began, 3)
        self.statistics = {
            name: {**found, "paused_s": paused} for name, found in checkpoints.statistics(self.checkpoints).items()
        }
