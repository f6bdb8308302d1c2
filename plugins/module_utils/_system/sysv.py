# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""System V semaphores and message queues, and whose they are.

They belong to the IPC namespace and not to a process. The kernel notes the owner, the creator, and the processes that used them last.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass

from .._files import read_lines

_GETPID = 11  # include/uapi/linux/sem.h
# Of a set with more semaphores the rest is not asked: SEMMSL is 32000.
_ASKED = 256


@dataclass(frozen=True)
class Object:
    """``kind`` ("sem", "msg"), ``number`` (as ipcs(1) shows it), ``owners`` (user ids), ``users`` (pids that used it last)."""

    kind: str
    number: int
    owners: frozenset
    users: frozenset

    def belongs_to(self, pids, users):
        """Whether it is that of processes ``pids``, which run as these ``users`` (ids), as far as can be told.

        One of root is theirs only if one of them used it: most of root's are of others.
        """
        if self.users & pids:
            return True
        return bool(self.owners & (users - {0})) and not any(os.path.exists(f"/proc/{pid}") for pid in self.users)


def objects():
    """All `Object`s of this IPC namespace."""
    # sysvipc(7): key semid perms nsems uid gid cuid …, and key msqid perms cbytes qnum lspid lrpid uid gid cuid …
    sets = (Object("sem", row[1], frozenset({row[4], row[6]}), _users(row[1], row[3])) for row in _rows("sem"))
    queues = (Object("msg", row[1], frozenset({row[7], row[9]}), frozenset(row[5:7]) - {0}) for row in _rows("msg"))
    return [*sets, *queues]


def _rows(kind):
    rows = (line.split() for line in read_lines(f"/proc/sysvipc/{kind}")[1:])
    return [[int(word) for word in row] for row in rows if len(row) > 9]


def _users(number, count):
    semctl = ctypes.CDLL(None, use_errno=True).semctl
    found = (semctl(number, each, _GETPID) for each in range(min(count, _ASKED)))
    return frozenset(pid for pid in found if pid > 0)
