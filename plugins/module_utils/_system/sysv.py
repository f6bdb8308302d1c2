# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""System V shared memory, semaphores and message queues, and whose they are.

They belong to the IPC namespace and not to a process. The kernel notes the owner, the creator, and the processes that used them last.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import mmap
import os
import struct
from dataclasses import dataclass

from .._files import read_lines, read_text
from . import smaps

PAGE = os.sysconf("SC_PAGESIZE")
# include/uapi/linux/ipc.h, sem.h, msg.h, shm.h, kcmp.h
_IPC_STAT, _GETPID, _GETALL = 2, 11, 13
_NOWAIT, _COPY = 0o4000, 0o40000
_READ_ONLY = 0o10000
_KCMP_SYSVSEM = 6
_KCMP = 312  # the number of the system call on x86-64
# Offset of msg_qbytes in struct msqid_ds, and its size (x86-64).
_QUEUE_BYTES, _QUEUE_STATUS = 88, 120
# Of a set with more semaphores the rest is not asked: SEMMSL is 32000.
_ASKED = 256
# proc_pid_maps(5): the inode is the segment's number.
_ATTACHED = rb"^([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) (\S+) (\d+) +/SYSV"


@dataclass(frozen=True)
class Object:
    """``kind`` ("shm", "sem", "msg"), ``number`` (as ipcs(1) shows it), ``owners`` (user ids), ``users`` (pids that used it last).

    ``key``; ``mode``: rights and flags; ``rights``: owner, group, creator and its group (ids); ``size``: bytes of a segment or of all
    messages, number of semaphores; ``resident``: bytes of memory and swap that a segment takes; ``pids``: creator of a segment, or last
    sender and receiver.
    """

    kind: str
    number: int
    owners: frozenset
    users: frozenset
    key: int = 0
    mode: int = 0
    rights: tuple = (0, 0, 0, 0)
    size: int = 0
    resident: int = 0
    pids: tuple = ()
    messages: int = 0
    attached: int = 0

    def belongs_to(self, pids, users):
        """Whether it is that of processes ``pids``, which run as these ``users`` (ids), as far as can be told.

        One of root is theirs only if one of them used it: most of root's are of others.
        """
        if self.users & pids:
            return True
        return bool(self.owners & (users - {0})) and not any(os.path.exists(f"/proc/{pid}") for pid in self.users)


@dataclass(frozen=True)
class Attachment:
    """A part of an address space with a segment in it: the segment's ``number``, ``start``, ``end``, ``offset``, ``rights`` ("rw-s"),
    ``device`` ("00:01")."""

    number: int
    start: int
    end: int
    offset: int
    rights: str
    device: str


def attachments(path):
    """`Attachment`s of a process, by its directory in /proc, in the order of addresses."""
    try:
        rows = [[*map(os.fsdecode, found.groups())] for found in smaps.search(f"{path}/maps", _ATTACHED)]
    except OSError:  # it has ended
        return []
    return [Attachment(int(row[5]), int(row[0], 16), int(row[1], 16), int(row[3], 16), *row[2:5:2]) for row in rows]


@functools.cache
def device():
    """The device ("00:01") of shared memory without a name, which segments of small pages are on, too."""
    with mmap.mmap(-1, PAGE) as shared:
        address = ctypes.addressof(held := ctypes.c_char.from_buffer(shared))
        del held
        rows = (row.split() for row in read_lines("/proc/self/maps"))
        return next((row[3] for row in rows if int(row[0].partition("-")[0], 16) == address), "")


def are_whole(parts, sizes):
    """Whether each segment of these `Attachment`s of one process is attached from its begin to its end.

    :param sizes: number → bytes.
    """
    found = []
    for part in parts:
        begin = part.start - part.offset
        if not part.offset:
            found.append((part.number, begin, part.end))
        elif found and found[-1] == (part.number, begin, part.start):  # with other rights than the part before
            found[-1] = (part.number, begin, part.end)
        else:
            return False
    return all(end - begin == -(-sizes.get(number, 0) // PAGE) * PAGE for number, begin, end in found)


def objects():
    """All `Object`s of this IPC namespace."""
    return [*segments(), *map(_semaphores, _rows("sem")), *map(_queue, _rows("msg"))]


def segments():
    """The shared memory segments of this IPC namespace: `Object`s."""
    return [*map(_segment, _rows("shm"))]


# sysvipc(7)


def _segment(row):
    # key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap
    number, rights = row[1], tuple(row[7:11])
    users = frozenset(row[4:6]) - {0}
    owners = frozenset({rights[0], rights[2]})
    return Object(
        "shm", number, owners, users, row[0], row[2], rights, row[3], sum(row[14:16]), (row[4],), attached=row[6]
    )


def _semaphores(row):
    # key semid perms nsems uid gid cuid cgid otime ctime
    number, rights = row[1], tuple(row[4:8])
    return Object(
        "sem", number, frozenset({rights[0], rights[2]}), _users(number, row[3]), row[0], row[2], rights, row[3]
    )


def _queue(row):
    # key msqid perms cbytes qnum lspid lrpid uid gid cuid cgid …
    number, rights, pids = row[1], tuple(row[7:11]), tuple(row[5:7])
    owners, users = frozenset({rights[0], rights[2]}), frozenset(pids) - {0}
    return Object("msg", number, owners, users, row[0], row[2], rights, row[3], pids=pids, messages=row[4])


def _rows(kind):
    rows = (line.split() for line in read_lines(f"/proc/sysvipc/{kind}")[1:])
    # The rights are octal.
    return [[int(word, 8 if place == 2 else 10) for place, word in enumerate(row)] for row in rows if len(row) > 9]


def _users(number, count):
    semctl = _libc().semctl
    found = (semctl(number, each, _GETPID) for each in range(min(count, _ASKED)))
    return frozenset(pid for pid in found if pid > 0)


def _libc():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
    libc.shmdt.argtypes = [ctypes.c_void_p]
    libc.msgrcv.restype = ctypes.c_ssize_t
    libc.msgrcv.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long, ctypes.c_int]
    return libc


def _failed(thing):
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), f"the System V object {thing.kind} {thing.number}")


def content(thing):
    """What is in an `Object`, bytes; it stays there.

    Of a segment its bytes. Of semaphores the value and the process that changed it last, of each: two u32. Of a queue its messages: type
    (s64), size (u32), text.

    :raises OSError: it is gone, or the kernel cannot copy messages (CONFIG_CHECKPOINT_RESTORE).
    """
    return {"shm": _memory, "sem": _values, "msg": _messages}[thing.kind](_libc(), thing)


def _memory(libc, thing):
    address = libc.shmat(thing.number, None, _READ_ONLY)
    if address == ctypes.c_void_p(-1).value:
        raise _failed(thing)
    try:
        return ctypes.string_at(address, thing.size)
    finally:
        libc.shmdt(address)


def _values(libc, thing):
    values = (ctypes.c_ushort * thing.size)()
    if libc.semctl(thing.number, 0, _GETALL, values):
        raise _failed(thing)
    pids = (max(libc.semctl(thing.number, each, _GETPID), 0) for each in range(thing.size))
    return b"".join(struct.pack("=II", values[each], pid) for each, pid in enumerate(pids))


def _messages(libc, thing):
    longest = int(read_text("/proc/sys/kernel/msgmax", "8192"))
    # A message may be longer than what is allowed now.
    room = 8 + max(longest, thing.size)
    buffer, found = ctypes.create_string_buffer(room), []
    for place in range(thing.messages):
        size = libc.msgrcv(thing.number, buffer, room - 8, place, _NOWAIT | _COPY)
        if size < 0:
            raise _failed(thing)
        found.append(buffer.raw[:8] + struct.pack("=I", size) + buffer.raw[8 : 8 + size])
    return b"".join(found)


def capacity(thing):
    """Bytes that a queue takes (msg_qbytes).

    :raises OSError: it is gone.
    """
    status = ctypes.create_string_buffer(_QUEUE_STATUS)
    if _libc().msgctl(thing.number, _IPC_STAT, status):
        raise _failed(thing)
    return struct.unpack_from("=Q", status.raw, _QUEUE_BYTES)[0]


def undoers(pids):
    """Those of the processes ``pids`` that may have changes of semaphores to undo at their end (SEM_UNDO): a list.

    The kernel does not tell what it would undo. It tells whether two processes have the same list, and of processes that have none, it says
    they have the same. The threads of a process share a list that may be empty, which cannot be told from one that is not.
    """
    libc = _libc()
    ours, end = os.pipe()
    # A child has none, whatever this process has.
    child = os.fork()
    if not child:
        os.close(end)
        os.read(ours, 1)
        os._exit(0)
    try:
        return [pid for pid in pids if _differs(libc, child, pid)]
    finally:
        os.close(end)
        os.close(ours)
        os.waitpid(child, 0)


def _differs(libc, child, pid):
    result = libc.syscall(_KCMP, child, pid, _KCMP_SYSVSEM, 0, 0)
    return result > 0 or (result < 0 and ctypes.get_errno() != errno.ESRCH)
