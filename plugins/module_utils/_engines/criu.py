# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Engine ``criu``: pages travel in CRIU's own images on disk."""

from __future__ import annotations

from .base import Engine
from .dump_checkpoint import DumpCheckpoint


class Criu(Engine):
    """See `base.Engine`: it needs CRIU alone."""

    name = "criu"

    def checkpoint(self, unit, directory, settings):
        return DumpCheckpoint(unit, directory, settings)
