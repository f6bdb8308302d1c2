"""System V objects: whose they are, as far as can be told, what the kernel lists, and what is in them."""

import contextlib
import ctypes
import os
import struct

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system import sysv

ALIVE, ENDED = os.getpid(), 2**22 + 1
PAGE = sysv.PAGE
libc = ctypes.CDLL(None)


def thing(owners=(), users=()):
    return sysv.Object("sem", 3, frozenset(owners), frozenset(users))


@pytest.mark.parametrize(
    ("owners", "users", "belongs"),
    [
        ({0}, {7}, True),
        ({0}, {ENDED}, False),
        ({0}, set(), False),
        ({33}, set(), True),
        ({33}, {ENDED}, True),
        # The last user is a process of somebody else, under the same account.
        ({33}, {ALIVE}, False),
        ({33}, {ALIVE, 7}, True),
        ({34}, set(), False),
    ],
)
def test_whose_it_is(owners, users, belongs):
    assert thing(owners, users).belongs_to(frozenset({7}), frozenset({0, 33})) is belongs


def test_what_the_kernel_lists(monkeypatch):
    tables = {
        "shm": ["key shmid", "      4660     65539  1640 5000 811 812 2 33 34 0 35 1 2 3 8192 4096"],
        "sem": [
            "key semid",
            "         0          4   600          2    33    33     0     0          0 1764108000",
            "",
            "broken",
        ],
        "msg": ["key msqid", "        -1          5   622       30        2   812     0    33    33    34    34 0 0 0"],
    }
    monkeypatch.setattr(sysv, "read_lines", lambda path: tables[path.rpartition("/")[2]])
    monkeypatch.setattr(sysv, "_users", lambda number, count: frozenset({number, count}))
    memory, semaphores, queue = sysv.objects()
    assert memory == sysv.Object(
        "shm",
        65539,
        frozenset({33, 0}),
        frozenset({811, 812}),
        key=4660,
        mode=0o1640,
        rights=(33, 34, 0, 35),
        size=5000,
        resident=12288,
        pids=(811,),
        attached=2,
    )
    assert semaphores == sysv.Object(
        "sem", 4, frozenset({33, 0}), frozenset({4, 2}), mode=0o600, rights=(33, 33, 0, 0), size=2
    )
    assert queue == sysv.Object(
        "msg",
        5,
        frozenset({33, 34}),
        frozenset({812}),
        key=-1,
        mode=0o622,
        rights=(33, 33, 34, 34),
        size=30,
        pids=(812, 0),
        messages=2,
    )


@contextlib.contextmanager
def made(number, control, *more):
    try:
        yield {(each.number, each.kind): each for each in sysv.objects()}[number, control[:3]]
    finally:
        getattr(libc, control)(number, *more)


def test_the_content_of_memory():
    number = libc.shmget(0, 5000, 0o1600)
    with made(number, "shmctl", 0, None) as found:
        assert sysv.content(found) == bytes(5000)
        assert (found.size, found.attached) == (5000, 0)
    with pytest.raises(OSError, match="shm"):
        sysv.content(found)


def test_the_content_of_semaphores():
    number = libc.semget(0, 3, 0o1600)
    libc.semctl(number, 1, 16, 5)
    with made(number, "semctl", 0, 0) as found:
        assert sysv.content(found) == struct.pack("=6I", 0, 0, 5, os.getpid(), 0, 0)
        assert found.users == {os.getpid()}
    with pytest.raises(OSError, match="sem"):
        sysv.content(found)


def test_the_content_of_a_queue_stays_there():
    number = libc.msgget(0, 0o1600)
    for kind, text in ((3, b"three"), (1 << 40, b"")):
        libc.msgsnd(number, struct.pack("l", kind) + text, ctypes.c_size_t(len(text)), 0o4000)
    with made(number, "msgctl", 0, None) as found:
        expected = struct.pack("=qI", 3, 5) + b"three" + struct.pack("=qI", 1 << 40, 0)
        assert [sysv.content(found) for _time in range(2)] == [expected] * 2
        assert found.messages == 2
        assert sysv.capacity(found) > 1000
    with pytest.raises(OSError, match="msg"):
        sysv.content(found)
    with pytest.raises(OSError, match="msg"):
        sysv.capacity(found)


def part(start, pages, offset=0, number=3):
    return sysv.Attachment(number, start * PAGE, (start + pages) * PAGE, offset * PAGE, "rw-s", "00:01")


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([], True),
        ([part(1, 3)], True),
        ([part(1, 1), part(2, 2, 1)], True),
        ([part(1, 3), part(4, 3)], True),
        ([part(1, 3), part(4, 1, number=4)], True),
        ([part(1, 2)], False),
        ([part(1, 1), part(3, 1, 2)], False),
        ([part(2, 2, 1)], False),
        ([part(1, 2), part(3, 1, 2, number=4)], False),
        ([part(1, 2), part(3, 3)], False),
        ([part(1, 3, number=9)], False),
    ],
)
def test_a_segment_is_attached_whole(parts, whole):
    # The last page is not full.
    assert sysv.are_whole(parts, {3: 2 * PAGE + 1, 4: 1}) is whole


def test_attachments_of_a_process():
    libc.shmat.restype = ctypes.c_void_p
    number = libc.shmget(0, 5000, 0o1600)
    place = libc.shmat(number, None, 0)
    try:
        expected = sysv.Attachment(number, place, place + 2 * PAGE, 0, "rw-s", sysv.device())
        assert sysv.attachments("/proc/self") == [expected]
    finally:
        libc.shmdt(ctypes.c_void_p(place))
        libc.shmctl(number, 0, None)
    assert sysv.attachments("/proc/self") == sysv.attachments(f"/proc/{ENDED}") == []


def test_a_process_with_something_to_undo():
    number = libc.semget(0, 1, 0o1600)
    ready, ours = os.pipe()
    child = os.fork()
    if not child:
        libc.semop(number, struct.pack("hhh", 0, 1, 0o10000), 1)
        os.write(ours, b"x")
        os.pause() if hasattr(os, "pause") else ctypes.CDLL(None).pause()
    try:
        os.read(ready, 1)
        assert sysv.undoers([child, ENDED]) == [child]
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        libc.semctl(number, 0, 0)
