# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A checkpoint that is only to show whether CRIU can take it: without the content of memory, and with a short freeze."""

from __future__ import annotations

import math
import os
import time

from .._criu import command
from .._files import write_file
from . import empty_parent, page_daemon
from .page_server import PageServerCheckpoint

_FEATURE = "mem_dirty_track"
# Seconds, beyond the limit, for which the action script waits before it ends a dump by itself.
_BEYOND = 60
# Bytes: images without memory are smaller by far, and CRIU has seldom written all of the last one.
_ROOM = 1 << 20


def lacking():
    """Why no dump of this node can leave out the content of memory; empty: it can."""
    if not page_daemon.runs():
        return f"the page daemon ({page_daemon.PROGRAM}) does not run on this node"
    said = command.check(_FEATURE)
    return said and f"this kernel cannot tell which memory was written to ({said}), and all of it would be copied"


class Rehearsal(PageServerCheckpoint):
    """See `base.Checkpoint`. It is never restored.

    ``limit``: seconds that the freeze may take; ``frozen``: seconds that it took until the application ran again, 0 before.
    """

    # CRIU looks at each page, and files/paged clears a bit of each: 1 GiB took 0.26 s of a virtual machine without KVM.
    pace = 4 << 30

    def __init__(self, unit, directory, settings, limit):
        super().__init__(unit, directory, settings)
        self.limit, self.frozen = limit, 0.0
        self._frozen_at = None

    def pre_copy_again(self):
        empty_parent.make(self.directory)
        write_file(f"{self.directory}/patience", f"{math.ceil(self.limit) + _BEYOND}\n")

    def start_server(self):
        return page_daemon.Server(["discard"])

    def parent_options(self):
        return empty_parent.OPTIONS

    def dump_options(self):
        words, descriptors = super().dump_options()
        # For the stop of all tasks, which CRIU gives up by itself after that time: later than the caller, to whom it would look like a refusal.
        return [*words, "--timeout", str(math.ceil(self.limit) + 1)], descriptors

    def freeze(self):
        self._frozen_at = time.monotonic()
        super().freeze()

    @property
    def ended(self):
        return bool(self._dump) and super().ended

    @property
    def refused(self):
        """Whether CRIU has ended by itself because of the unit: not for want of a page server, or of room for the images."""
        if not self.ended or self.killed or self.server.failed:
            return False
        found = os.statvfs(self.directory)
        return found.f_bavail * found.f_frsize >= _ROOM

    def resume(self):
        super().resume()
        if self._frozen_at is not None:
            self.frozen, self._frozen_at = time.monotonic() - self._frozen_at, None
