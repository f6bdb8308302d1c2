# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A checkpoint whose last dump sends its pages to the page daemon, which may bring them in after the restore: what the engines
that use it have in common.
"""

from __future__ import annotations

import abc
import contextlib

from .._errors import KupError
from .._system import unit_templates
from . import page_daemon, pending_memory
from .dump_checkpoint import DumpCheckpoint

#: CRIU's word for a restore whose pages come when they are needed
ON_DEMAND = "--lazy-pages"


class PageServerCheckpoint(DumpCheckpoint):
    """See `base.Checkpoint`. ``server``: the `page_daemon.Server` of the last dump; None before it."""

    def __init__(self, unit, directory, settings):
        super().__init__(unit, directory, settings)
        self.server = None

    @abc.abstractmethod
    def start_server(self):
        """Start the page server for the last dump; returns a `page_daemon.Server`."""

    def parent_options(self):
        """Words for CRIU's command line that name the images of an earlier dump; empty: there is none."""
        return []

    def dump_options(self):
        return [*self.server.options, "--track-mem", *self.parent_options()], [self.server.socket]

    def start(self):
        self.server = self.start_server()
        super().start()

    def wait_ready(self, deadline):
        with self._cause():
            super().wait_ready(deadline)

    def wait_complete(self, deadline):
        with self._cause():
            super().wait_complete(deadline)

    @contextlib.contextmanager
    def _cause(self):
        try:
            yield
        except KupError as error:
            if not self.ended:  # it still holds its end of the stream
                raise
            raise page_daemon.with_cause(self.server, error) from error

    def resume(self):
        # First: a CRIU that is in the middle of its work ends it then.
        if self.server:
            self.server.end()
        super().resume()

    def server_unit(self, source, needed=""):
        """The service that brings in the memory of a restore on demand, as `services` returns it.

        :param source: words that tell the page daemon where the pages are.
        :param needed: a file without which there is nothing to serve.
        """
        unit = self.unit.name
        text = unit_templates.render(
            "kup-paged.service", UNIT=unit, IMAGES=self.directory, SOURCE=" ".join(source), NEEDED=needed
        )
        return {pending_memory.service(unit): text}
