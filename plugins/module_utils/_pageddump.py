# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A checkpoint whose last dump sends its pages to the page daemon: what the engines that use it have in common."""

from __future__ import annotations

from . import _engine_criu, _paged
from ._errors import KupError


class Checkpoint(_engine_criu.Checkpoint):
    """See `_engine_criu.Checkpoint`; `dump_options` has to start ``server``, a `_paged.Server`."""

    def __init__(self, unit, directory, settings):
        super().__init__(unit, directory, settings)
        self.server = None

    def freeze(self):
        super().freeze()
        self.server.connected()

    def wait(self, deadline):
        try:
            super().wait(deadline)
        except KupError as error:
            raise _paged.with_cause(self.server, str(error)) from error

    def let_go(self):
        super().let_go()
        if self.server:
            self.server.end()
