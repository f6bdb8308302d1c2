# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Attributes that only a process itself can tell and set, and that CRIU forgets or sets too early.

Before the freeze each process is asked, by a system call that it makes for us (files/fingerprint/tasks/inject.h); after the restore it
sets them in the same way. ``boot/N/attributes-UNIT`` has a line ``THREAD NAME VALUE`` for each that is not usual:

- ``mdwe``: no memory that is writable and executable (``MemoryDenyWriteExecute=``);
- ``mce-kill``: whether a fault of the memory ends the process early;
- ``pdeathsig``: the signal at the end of its parent. CRIU would set it while the parent of the main process is CRIU, which ends right
  after the restore. So it is taken out of the images, and set when the parent is systemd.

Who has been put into a Landlock sandbox is asked in the same way: nobody can make that sandbox again.
"""

from __future__ import annotations

import os

from .._blocker import Blocked, about, all_of
from .._errors import KupError
from .._paths import RUNTIME
from .._run import run
from . import attribute_checks
from .core_image import CoreImage

PROGRAM = RUNTIME + "/fingerprint"


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
        blockers = all_of([attribute_checks.landlock], found.get(process.pid, {}))
        if blockers:
            raise Blocked(about(blockers, unit=unit.name, process=f"{process.name}[{process.pid}]"))


def lines(found, processes, main_pid, images):
    """The lines of ``boot/N/attributes-UNIT``, while the tree is frozen and its images are complete.

    :param found: what `ask` has returned before.
    :param processes: the unit's `Process`es now.
    :param images: the directory with CRIU's images.
    """
    tree = {process.pid: process for process in processes}
    said = [
        f"{process.pid} {name} {value}"
        for process in processes
        for name, value in sorted(_of(process, found, tree).items())
    ]
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
