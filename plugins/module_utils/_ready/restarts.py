# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""When services may be started anew, and doing it: a start costs their state."""

from __future__ import annotations

import time

from .. import _windows
from .._errors import KupError
from .._run import run

_PATIENCE = 600  # seconds for a service to end and to start, such as a database that writes its pages


def is_open(window, now=None):
    """Whether services may be started anew at this time of the node.

    :param window: "always"; empty: never; a window in the node's local time as `_windows.parse` takes it.
    :param now: seconds since the epoch.
    :raises KupError: it is none of these.
    """
    if window in ("", "always"):
        return bool(window)
    found = _windows.parse("kup_ready_window is neither empty nor 'always', but", window)
    return _windows.closing([found], time.time() if now is None else now) is not None


def restart(units):
    """Start the ``units`` anew.

    :raises KupError: one does not start.
    """
    run(["systemctl", "daemon-reload"])
    for unit in units:
        try:
            run(["systemctl", "restart", unit], timeout=_PATIENCE)
        except KupError as error:
            raise KupError(f"{unit} does not start with its new settings: {error}") from error
