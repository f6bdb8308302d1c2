# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Lazy pages that are pending after a restore on demand (engines ``foam`` and ``ppp``).

A process with pending pages must not be dumped: CRIU would leave them out without a word. While pages of a unit are pending, the file
UNIT.pending is in the runtime directory: files/node/boot/early makes it, files/node/boot/pages-drained removes it.
"""

from __future__ import annotations

import os
import time

from .._errors import KupError
from .._paths import RUN
from .._run import run

_ENDING = ".pending"


def service(unit):
    """Name of the service that brings in the memory of ``unit``."""
    return f"kup-paged-{unit}"


def units():
    """Names of the units with pending pages."""
    try:
        return sorted(name[: -len(_ENDING)] for name in os.listdir(RUN) if name.endswith(_ENDING))
    except FileNotFoundError:
        return []


def progress():
    """The same as a text for a person; empty if all pages are in place."""
    return ", ".join(f"{unit}: {_said(unit) or 'pages are pending'}" for unit in units())


def _said(unit):
    return run(["systemctl", "show", "--property=StatusText", "--value", "--", service(unit)]).stdout.strip()


def lost(unit):
    """Whether memory of ``unit`` could not be brought in: what touches it is killed."""
    return os.path.exists(f"{RUN}/{unit}.lost")


def refuse():
    """:raises KupError: pages of a unit are pending."""
    if units():
        raise KupError(f"The applications' memory is not in place yet ({progress()}); wait for it.")


def wait(seconds):
    """Wait until all memory is in place, for as long as more of it comes in.

    :raises KupError: none came in for ``seconds``.
    """
    seen, give_up = progress(), time.monotonic() + seconds
    while units():
        if time.monotonic() > give_up:
            now = progress()
            if now == seen:
                raise KupError(f"Nothing of the applications' memory has come in for {seconds} s ({now}).")
            seen, give_up = now, time.monotonic() + seconds
        time.sleep(0.1)
