# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A checkpoint that one ``criu dump`` writes: what the checkpoints of all engines have in common."""

from __future__ import annotations

import glob
import os

from .._criu import command
from .._criu.dump import Dump
from . import base


class DumpCheckpoint(base.Checkpoint):
    """See `base.Checkpoint`. As it is, CRIU writes all memory into its own images."""

    def __init__(self, unit, directory, settings):
        super().__init__(unit, directory, settings)
        self._dump = None

    def dump_options(self):
        """More words for CRIU's command line, and the descriptors that they name: two sequences."""
        return (), ()

    def start(self):
        self._dump = Dump(self.unit, self.findings, self.directory, *self.dump_options())

    def wait_ready(self, deadline):
        self._dump.wait_ready(deadline)

    def freeze(self):
        self._dump.freeze()

    def wait_complete(self, deadline):
        self._dump.wait_complete(deadline)

    def check(self):
        self._dump.check()

    @property
    def ended(self):
        """Whether CRIU has ended, one way or the other; the tree is not frozen by it any more then."""
        return self._dump.ended

    @property
    def killed(self):
        return bool(self._dump) and self._dump.killed

    def resume(self):
        if self._dump:
            self._dump.resume()

    def discard(self):
        for path in glob.glob(f"{glob.escape(self.directory)}/pages-*.img"):
            os.unlink(path)

    @property
    def bytes(self):
        return self._dump.bytes

    def restore_command(self, pidfile):
        own_mounts = self.unit.own_mounts
        return command.restore_command(self.directory, self.findings, pidfile, self.keeps_connections, own_mounts)
