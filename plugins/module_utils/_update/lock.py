# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The node's lock: one operation at a time, of a controller, the deadline or a person."""

from __future__ import annotations

import contextlib
import fcntl
import os

from .._errors import KupError
from .._files import make_directory
from .._paths import RUN


@contextlib.contextmanager
def exclusive():
    """Hold the node's lock.

    :raises KupError: another operation holds it.
    """
    make_directory(RUN)
    descriptor = os.open(f"{RUN}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise KupError(
                f"Another operation of kup.fleet is under way on this node ({RUN}/lock is held); wait for its end."
            ) from None
        yield
    finally:
        os.close(descriptor)
