# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""When services may be started anew, and doing it: a start costs their state."""

from __future__ import annotations

import re
import time

from .._errors import KupError
from .._run import run

_PATIENCE = 600  # seconds for a service to end and to start, such as a database that writes its pages


def is_open(window, now=None):
    """Whether services may be started anew at this time of the node.

    :param window: "always"; empty: never; "HH:MM-HH:MM" in the node's local time, also over midnight.
    :param now: minutes since midnight.
    :raises KupError: it is none of these.
    """
    if window in ("", "always"):
        return bool(window)
    found = re.fullmatch(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)", window)
    if not found:
        raise KupError(
            f"kup_ready_window is {window!r}, expected 'always', or times such as '02:00-04:30', or nothing."
        )
    hours, minutes, last_hours, last_minutes = map(int, found.groups())
    first, last = 60 * hours + minutes, 60 * last_hours + last_minutes
    if now is None:
        local = time.localtime()
        now = 60 * local.tm_hour + local.tm_min
    return first <= now < last if first < last else now >= first or now < last


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
