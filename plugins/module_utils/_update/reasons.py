# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Why a node goes back, handed to the service that takes it back in a file: command lines are for all to read.

Whoever starts the service writes the file anew, so one that was left behind misleads nobody. No trouble with it keeps a node from going back.
"""

from __future__ import annotations

import contextlib
import os

from .._files import make_directory, read_text, write_file
from .._paths import RUN
from . import record as records

UNKNOWN = "it was told to, and the reason was not handed over"

_PATH = RUN + "/reason"


def leave(reason):
    """Write ``reason`` for the service that is about to be started."""
    _remove()
    with contextlib.suppress(OSError):
        make_directory(os.path.dirname(_PATH))
        write_file(_PATH, records.one_line(reason))


def withdraw(reason):
    """Remove ``reason``, because the service could not be started; not that of another starter, whose service may be about to read it."""
    if _read() == records.one_line(reason):
        _remove()


def take():
    """The reason that was left, which is removed; `UNKNOWN` where there is none."""
    reason = _read()
    _remove()
    return reason or UNKNOWN


def _read():
    with contextlib.suppress(OSError):
        return read_text(_PATH, "")
    return ""


def _remove():
    with contextlib.suppress(OSError):
        os.unlink(_PATH)
