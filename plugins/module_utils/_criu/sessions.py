# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The session of a unit's main process, where another process made it and has ended: that of a daemon which forks twice.

CRIU restores a tree whose root does not lead its session into the session of its own caller (``--shell-job``). So CRIU is started in a session
that has the same id, and whose leader ends with it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from .._paths import RUNTIME
from . import program

_PROGRAM = f"{RUNTIME}/environment"


@dataclass(frozen=True)
class Session:
    """``number``: its id; ``group``: that of the process group of the main process; ``is_led``: its leader lives."""

    number: int
    group: int
    is_led: bool


def of(main):
    """The `Session` of process ``main`` (`processes.Process`), None if it leads it, or has ended."""
    try:
        number, group = os.getsid(main.pid), os.getpgid(main.pid)
    except ProcessLookupError:
        return None
    if number == main.pid:
        return None
    return Session(number, group, os.path.exists(f"/proc/{number}"))


def restored_in(number, own_mounts):
    """The first words of a command that restores a tree in the session ``number``; none for 0.

    :param own_mounts: the command is run in the mount namespace of a unit.
    """
    if not number:
        return []
    return [program.from_inside(_PROGRAM) if own_mounts else _PROGRAM, "in-session", str(number)]
