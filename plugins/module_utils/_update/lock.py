# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""One operation on a node at a time, whoever asks: a controller, the deadline, a person."""

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

    :raises KupError: somebody else holds it.
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
