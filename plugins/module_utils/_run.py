# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Run a system tool.

The library does so without ``AnsibleModule.run_command``, for which ansible-test asks: the node's own programs use it, too, and have no module.
"""

from __future__ import annotations

import os
import subprocess

from ._errors import KupError

_USAGE = 2  # exit code of a program that wants arguments


def is_program(path):
    """Whether one of our programs is at ``path``, for this machine: it wants arguments."""
    try:
        return run([path], check=False).returncode == _USAGE
    except (KupError, OSError):
        return False


def run(argv, *, timeout=60, stdin=None, check=True, more=(), name=""):
    """Run ``argv`` (a list, never a shell line) with ``LANG=C``.

    :param timeout: seconds.
    :param stdin: text for the standard input.
    :param check: raise on a non-zero exit code.
    :param more: variables of its environment, beside ours: pairs.
    :param name: what messages say instead of ``argv``, which may hold secrets.
    :returns: ``subprocess.CompletedProcess`` with text output.
    :raises KupError: the tool is missing, failed (with ``check``) or took too long.
    """
    environment = {**os.environ, "LANG": "C", "LC_ALL": "C", **dict(more)}
    shown = name or f"'{' '.join(argv)}'"
    try:
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            argv,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="replace",  # tools print names of files and processes as they are
            timeout=timeout,
            env=environment,
            check=False,
        )
    except FileNotFoundError as error:
        raise KupError(
            f"{name or argv[0]} is not installed on this node; install the package that brings it."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise KupError(f"{shown} did not end within {timeout} s.") from error
    if check and done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise KupError(f"{shown} ended with {done.returncode}: {said[-1] if said else 'no message'}")
    return done
