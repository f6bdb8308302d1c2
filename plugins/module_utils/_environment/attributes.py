# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Attributes that CRIU forgets or sets too early.

Some only a process itself can tell and set. Before the freeze each process is asked, by a system call that it makes for us
(files/fingerprint/tasks/inject.h); after the restore it sets them in the same way. ``boot/N/attributes-UNIT`` has a line
``THREAD NAME VALUE`` for each that is not usual:

- ``mdwe``: no memory that is writable and executable (``MemoryDenyWriteExecute=``);
- ``mce-kill``: whether a fault of the memory ends the process early;
- ``memory-merge``: equal pages are merged (``MemoryKSM=``);
- ``io-flusher``: its memory allocations do not wait for file systems;
- ``membarrier``, ``membarrier-sync-core`` and ``membarrier-rseq``: it has registered for this command of membarrier(2), which would fail
  otherwise (liburcu, .NET); with a CRIU that forgets it. Of MEMBARRIER_CMD_GLOBAL_EXPEDITED no kernel before 6.3 tells;
- ``lock-future``: flags of mlockall(2), of a process that locks what it maps later; CRIU only locks again what is mapped already;
- ``personality``: see personality(2);
- ``pdeathsig``: the signal at the end of its parent. CRIU would set it while the parent of the main process is CRIU, which ends right
  after the restore. So it is taken out of the images, and set when the parent is systemd.

Others are read in the freeze, and set from outside:

- ``affinity``: the processors that a thread may run on, where that is not all that its control group has;
- ``io-priority``: class and level of its input and output, see ioprio_get(2);
- ``timer-slack``: by how many nanoseconds its timers may be late;
- ``coredump-filter``: which memory is in a core dump;
- ``no-new-privs``, ``ambient`` and ``thp-disable``, with a CRIU that forgets them (_criu/forgotten.py): a thread gets no rights by a program
  that it executes (``NoNewPrivileges=``), or keeps a capability then (``AmbientCapabilities=``); a process gets no huge pages. These the
  process sets itself, if it does not have them. So is ``wipe-on-fork`` (fork_wiping.py).

Who has been put into a Landlock sandbox, or has keys in the kernel, is asked in the same way: nobody can make that again.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re

from .._blocker import Blocked, about, all_of
from .._criu import forgotten
from .._errors import KupError
from .._files import read_text
from .._paths import RUNTIME
from .._run import run
from .._system.processes import CGROUPS
from . import attribute_checks
from .core_image import CoreImage

PROGRAM = RUNTIME + "/fingerprint"
# On x86, as the program. include/uapi/linux/ioprio.h.
_IOPRIO_GET, _IOPRIO_WHO_PROCESS = 252, 1
# /proc/PID/status tells them: CRIU forgets all of these or none.
_IN_STATUS = frozenset({"ambient", "no-new-privs", "thp-disable"})
# Once: thousands of threads are asked while the application stands.
_LIBC = ctypes.CDLL(None, use_errno=True)


def ask(processes):
    """Ask each of a unit's `Process`es; returns dict pid → dict name → value.

    :raises KupError: a process cannot be asked.
    """
    found = {process.pid: {} for process in processes}
    # One that has ended meanwhile is no process of the unit any more.
    pids = [str(process.pid) for process in processes if process.exists]
    for line in run([PROGRAM, "ask", *pids]).stdout.splitlines() if pids else []:
        pid, name, value = line.split()
        found[int(pid)][name] = int(value)
    return found


def refuse(unit, found):
    """:raises Blocked: a process of the `Unit` has an attribute that a restore cannot give back."""
    for process in unit.processes:
        blockers = all_of(attribute_checks.ALL, found.get(process.pid, {}))
        if blockers:
            raise Blocked(about(blockers, unit=unit.name, process=f"{process.name}[{process.pid}]"))


def lines(found, processes, main_pid, images, forgets=frozenset()):
    """The lines of ``boot/N/attributes-UNIT``, while the tree is frozen and its images are complete.

    :param found: what `ask` has returned before.
    :param processes: the unit's `Process`es now.
    :param images: the directory with CRIU's images.
    :param forgets: see `examination.Findings`.
    """
    tree = {process.pid: process for process in processes}
    said = [
        f"{process.pid} {name} {value}"
        for process in processes
        for name, value in sorted(_of(process, found, tree).items())
        if name in forgets or name not in forgotten.NAMES
    ]
    said += _from_outside(processes)
    said += _forgotten(processes) if forgets & _IN_STATUS else []
    # One that has ended takes no signal; that the main process has is for others to tell.
    for thread in tree[main_pid].threads if main_pid in tree else []:
        signal = take_death_signal(f"{images}/core-{thread}.img")
        if signal:
            said.append(f"{thread} pdeathsig {signal}")
    return said


def _of(process, found, tree):
    """The attributes of a process; one that has been made since they were asked for has its parent's."""
    while process is not None and process.pid not in found:
        process = tree.get(int(process.status("PPid") or 0))
    return found[process.pid] if process is not None else {}


def _from_outside(processes):
    """Lines for what is not what a process that systemd starts would have."""
    filters = {process.pid: read_text(f"{process.path}/coredump_filter", "").strip() for process in processes}
    usual = read_text("/proc/1/coredump_filter", "").strip()
    for pid, value in filters.items():
        if value and value != usual:
            yield f"{pid} coredump-filter {value}"
    threads = [thread for process in processes for thread in process.threads]
    for name, ask_for in _OF_THREADS.items():
        found = {}
        for thread in threads:
            with contextlib.suppress(OSError):  # it has ended
                found[thread] = ask_for(thread)
        found = {thread: value for thread, value in found.items() if value}
        # The unit may have a setting for all of them (CPUAffinity=), from which one of them has turned away.
        if found and set(found.values()) - {_usual(name, processes[0].cgroup)}:
            yield from (f"{thread} {name} {value}" for thread, value in found.items())


def _forgotten(processes):
    """Lines for what only newer versions of CRIU put back (`_IN_STATUS`)."""
    for process in processes:
        if process.status("THP_enabled") == "0":
            yield f"{process.pid} thp-disable 1"
        for thread in process.threads:
            status = read_text(f"/proc/{thread}/status", "")
            if "\nNoNewPrivs:\t1\n" in status:
                yield f"{thread} no-new-privs 1"
            ambient = re.search(r"^CapAmb:\t([0-9a-f]+)$", status, re.MULTILINE)
            yield from (f"{thread} ambient {number}" for number in _bits(int(ambient[1], 16) if ambient else 0))


def _bits(mask):
    return [number for number in range(mask.bit_length()) if mask >> number & 1]


def _affinity(thread):
    return as_list(os.sched_getaffinity(thread))


def _io_priority(thread):
    found = _LIBC.syscall(_IOPRIO_GET, _IOPRIO_WHO_PROCESS, thread)
    if found < 0:
        raise OSError(ctypes.get_errno(), f"ioprio_get of {thread}")
    return str(found)


def _timer_slack(thread):
    return read_text(f"/proc/{thread}/timerslack_ns", "").strip()


_OF_THREADS = {"affinity": _affinity, "io-priority": _io_priority, "timer-slack": _timer_slack}


def _usual(name, cgroup):
    return _processors(cgroup) if name == "affinity" else _OF_THREADS[name](1)


def _processors(cgroup):
    """The processors of a control group, as its next ancestor with that controller says."""
    while True:
        found = read_text(f"{CGROUPS}{cgroup}/cpuset.cpus.effective", "").strip()
        if found or not cgroup.strip("/"):
            return found or as_list(os.sched_getaffinity(1))
        cgroup = os.path.dirname(cgroup)


def as_list(numbers):
    """Numbers as the kernel lists them: ``0-3,8``."""
    ranges = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def take_death_signal(path):
    """Clear the death signal in CRIU's image of a thread; returns the signal, 0 if it has none.

    :raises KupError: the file is no such image.
    """
    with open(os.open(path, os.O_RDWR | os.O_NOFOLLOW), "r+b") as stream:
        image = CoreImage(stream.read())
        if image.death_signal > 127:  # more than one byte, and no signal
            raise KupError(f"{path} has the death signal {image.death_signal}, expected a signal.")
        if image.death_signal:
            stream.seek(image.place)
            stream.write(b"\0")
    return image.death_signal
