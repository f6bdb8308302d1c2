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

PROGRAM = f"{RUNTIME}/fingerprint"


def lacking():
    """Why nothing can be recorded on this node; empty: it can."""
    return "" if is_program(PROGRAM) else f"the program {PROGRAM} does not run on this node"


def record(trees, directory):
    """Record frozen ``trees`` (dict unit → its processes) in ``directory``, not synced.

    :raises KupError: something cannot be recorded.
    """
    for unit, processes in trees.items():
        try:
            write(f"{directory}/fingerprint-{unit}", "record", *pids(processes))
        except KupError as error:
            raise KupError(f"The fingerprint of {unit} cannot be recorded: {error}") from error


def pids(processes):
    """The ids of processes, as words."""
    return [str(process.pid) for process in processes]


def write(path, *words, timeout=None):
    """Run the program with these words, and write what it prints into the new file ``path``, not synced.

    :raises KupError: see `run_program`.
    """
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as stream:
        run_program(*words, stdout=stream, timeout=timeout)


def run_program(*words, stdout=subprocess.DEVNULL, timeout=None):
    """Run it with these words, for ``timeout`` seconds at most (None: without a limit).

    :raises KupError: it cannot be run, takes longer, or fails, with what it says.
    """
    try:
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            [PROGRAM, *words], stdout=stdout, stderr=subprocess.PIPE, check=False, timeout=timeout
        )
    except OSError as error:
        raise KupError(f"{PROGRAM} cannot be run: {error}; install the node's programs anew.") from error
    except subprocess.TimeoutExpired as error:
        raise KupError(f"{PROGRAM} {words[0]} did not end within {timeout} s.") from error
    if done.returncode:
        raise KupError(done.stderr.decode("ascii", "replace").strip() or f"exit code {done.returncode}")


def differences(unit):
    """What is left different of ``unit`` since its restore in this boot: a list of lines."""
    return read_lines(f"{RUN}/{unit}.differences")
