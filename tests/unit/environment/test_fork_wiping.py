"""Memory that children find empty: which, before the freeze and in it."""

import ctypes
import mmap
import os
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._environment import fork_wiping

WIPE_ON_FORK, KEEP_ON_FORK = 18, 19
SIZE = 4 * mmap.PAGESIZE


class Area:
    """Memory of this process."""

    def __init__(self):
        self.memory = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))

    def advise(self, advice, pages):
        self.memory.madvise(advice, 0, pages * mmap.PAGESIZE)

    def line(self, pages):
        return f"{os.getpid()} wipe-on-fork {self.start:08x}-{self.start + pages * mmap.PAGESIZE:08x}"


def this():
    return types.SimpleNamespace(pid=os.getpid(), path=f"/proc/{os.getpid()}")


@pytest.fixture
def walks(monkeypatch):
    """How often the kernel was asked for all of the memory."""
    calls, ranges = [], fork_wiping._ranges
    monkeypatch.setattr(fork_wiping, "_ranges", lambda process: calls.append(process.pid) or ranges(process))
    return calls


def test_only_what_is_empty_in_children_is_told():
    first, second = Area(), Area()
    first.advise(WIPE_ON_FORK, 2)
    found = list(fork_wiping.lines(fork_wiping.look([this()]), [this()]))
    assert first.line(2) in found
    assert not any(f"{second.start:x}" in line for line in found)
    first.advise(KEEP_ON_FORK, 2)
    assert first.line(2) not in list(fork_wiping.lines(fork_wiping.look([this()]), [this()]))


def test_what_has_come_since_is_seen(walks):
    before = fork_wiping.look([this()])
    area = Area()
    area.advise(WIPE_ON_FORK, 1)
    assert area.line(1) in list(fork_wiping.lines(before, [this()]))
    assert len(walks) == 2


def test_nobody_is_asked_twice_where_nothing_has_changed(walks):
    """A list that this process does not change by reading it: that of a process that waits."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    try:
        child = types.SimpleNamespace(pid=pid, path=f"/proc/{pid}")
        assert list(fork_wiping.lines(fork_wiping.look([child]), [child])) == list(fork_wiping.lines({}, [child]))
        assert len(walks) == 2  # the first look, and that of the process of which nothing was known
    finally:
        os.close(writer)
        os.waitpid(pid, 0)
        os.close(reader)


def test_a_process_that_has_ended_has_nothing():
    gone = types.SimpleNamespace(pid=2**22, path=f"/proc/{2**22}")
    assert list(fork_wiping.lines(fork_wiping.look([gone]), [gone])) == []
