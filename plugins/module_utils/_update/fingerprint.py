# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What can be observed of the applications and is not in CRIU's images (files/fingerprint).

It is recorded in the freeze, as ``boot/N/fingerprint-UNIT``. The next boot puts it right after the restore of the unit, and before
packets flow (files/node/boot/restore-unit). What is left then is in ``/run/kup/UNIT.differences``.
"""

from __future__ import annotations

import os
import subprocess

from .._errors import KupError
from .._files import read_lines
from .._paths import RUN, RUNTIME
from .._run import is_program

_PROGRAM = f"{RUNTIME}/fingerprint"


def lacking():
    """Why nothing can be recorded on this node; empty: it can."""
    return "" if is_program(_PROGRAM) else f"the program {_PROGRAM} does not run on this node"


def record(trees, directory):
    """Record frozen ``trees`` (dict unit → its processes) in ``directory``, not synced.

    :raises KupError: something cannot be recorded.
    """
    for unit, processes in trees.items():
        path = f"{directory}/fingerprint-{unit}"
        words = [_PROGRAM, "record", *(str(process.pid) for process in processes)]
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            try:
                done = subprocess.run(words, stdout=stream, stderr=subprocess.PIPE, check=False)  # pylint: disable=ansible-bad-function
            except OSError as error:
                raise KupError(f"{_PROGRAM} cannot be run: {error}; install the node's programs anew.") from error
        if done.returncode:
            said = done.stderr.decode("ascii", "replace").strip() or f"exit code {done.returncode}"
            raise KupError(f"The fingerprint of {unit} cannot be recorded: {said}")


def differences(unit):
    """What is left different of ``unit`` since its restore in this boot: a list of lines."""
    return read_lines(f"{RUN}/{unit}.differences")
