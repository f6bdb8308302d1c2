"""What is swapped out: which pages are read, and when there is no room for them."""

import os
import struct
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._engines import swap
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import memory

MIB = 1 << 20

SMAPS = """10000-12000 rw-p 00000000 00:00 0
Size: 8 kB
Swap:                  4 kB
SwapPss:               0 kB
20000-21000 rw-p 00000000 00:00 0
Swap:                  0 kB
"""


def test_only_pages_that_are_swapped_out_are_read(tmp_path, monkeypatch):
    (tmp_path / "smaps").write_text(SMAPS)
    present, swapped = 1 << 63, 1 << 62
    with open(tmp_path / "pagemap", "wb") as stream:
        stream.seek(0x10 * 8)
        stream.write(struct.pack("<QQ", present, swapped | 7))
    with open(tmp_path / "mem", "wb") as stream:
        stream.truncate(0x30000)
    read, pread = [], os.pread

    def note(descriptor, size, offset):
        read.append((size, offset))
        return pread(descriptor, size, offset)

    monkeypatch.setattr(os, "pread", note)

    class Process:
        path = str(tmp_path)

    swap._read(Process)
    assert read == [(16, 0x10 * 8), (1, 0x11000)]


@pytest.fixture
def unit(monkeypatch, tmp_path):
    """A unit of two processes that share what is swapped out; `out`: its MiB at first, and after each time that a process was read."""
    state = types.SimpleNamespace(name="a.service", cgroup="/system.slice/a.service", out=[40], room=100, read=[])

    def read(process):
        state.read.append(process)
        state.out = state.out[1:] or state.out
        tell()

    def tell():
        (tmp_path / "smaps_rollup").write_text(f"SwapPss:  {state.out[0] << 9} kB\n")

    class Process:
        path = str(tmp_path)

        def size(self, field):
            assert field == "VmSwap"
            tell()
            return state.out[0] * MIB  # all of it, for each of them

    state.processes = [Process(), Process()]
    monkeypatch.setattr(memory, "room", lambda cgroup: (state.room * MIB, f"memory.max of {cgroup}"))
    monkeypatch.setattr(swap, "_read", read)
    return state


def test_all_comes_in(unit):
    unit.out = [40, 20, 0]
    assert swap.bring_in(unit)
    assert unit.read == unit.processes


def test_what_has_gone_out_for_it_comes_in_the_next_time(unit):
    unit.out = [40, 40, 10, 5, 0]
    assert swap.bring_in(unit)
    assert unit.read == 2 * unit.processes


def test_one_that_ends_meanwhile_is_no_reason_to_give_up(unit, monkeypatch):
    def read(process):
        unit.read.append(process)
        unit.out = [0]
        raise ProcessLookupError

    monkeypatch.setattr(swap, "_read", read)
    assert swap.bring_in(unit)
    assert unit.read == unit.processes


def test_nothing_is_out(unit):
    unit.out, unit.room = [0], 0
    assert not swap.bring_in(unit)
    assert not unit.read


@pytest.mark.parametrize(("out", "room", "fits"), [(40, 36, True), (40, 35, False), (4, 0, True), (6, -90, False)])
def test_what_comes_in_needs_room(unit, out, room, fits):
    unit.out, unit.room = [out, out, 0], room
    found = swap.blockers(unit)
    assert [(blocker.code, blocker.unit) for blocker in found] == ([] if fits else [("swapped-out", "a.service")])
    if fits:
        assert swap.bring_in(unit)
        return
    with pytest.raises(
        KupError, match=rf"a.service has {out} MiB swapped out.* memory.max of /system.slice/a.service has"
    ):
        swap.bring_in(unit)
    assert not unit.read


def test_what_goes_out_again_is_a_reason_to_give_up(unit):
    unit.out = [40, 6, 6, 6, 6]
    with pytest.raises(KupError, match="has 6 MiB swapped out, again.* memory.max of /system.slice/a.service is short"):
        swap.bring_in(unit)
    assert unit.read == 2 * unit.processes
