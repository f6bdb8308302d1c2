# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Undo steps that all run at the end, whatever ended the work and whichever of them fails."""

from __future__ import annotations

import contextlib

from .._errors import KupError


class Stack(contextlib.ExitStack):
    """A context manager whose end, with an error or without, runs the undo steps: the last that was pushed comes first."""

    def push_undo(self, undo):
        """Have ``undo`` called at the end. An undo that fails does not keep the others from being called."""
        self.callback(attempt, undo)


def attempt(undo):
    """Call ``undo``; an error of it is dropped."""
    with contextlib.suppress(KupError, OSError):
        undo()
