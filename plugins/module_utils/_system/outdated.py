# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Code in memory that is no longer on disk: libraries and programs which an upgrade has replaced, by unit."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass

from .._errors import printable
from .._files import each_line
from . import processes

_DELETED = " (deleted)"  # proc_pid_maps(5)
# Code of packages. Compilers of running programs have deleted files with code, too, elsewhere and in memfds.
_PACKAGED = ("/usr/", "/lib/", "/lib32/", "/lib64/", "/libx32/", "/bin/", "/sbin/", "/opt/")
_UNIT = re.compile(r"[A-Za-z0-9:_.\\@-]{1,255}\.(service|scope)")
_LINES = 200_000  # of one process; vm.max_map_count is 65530 unless somebody has raised it
_SECONDS = 10.0
_UNITS, _FILES = 100, 10  # that are named


@dataclass(frozen=True)
class Found:
    """``units``: list of dicts with ``unit``, ``count`` and ``files``; ``complete``: whether every process was looked at whole."""

    units: list
    complete: bool


def find(clock=time.monotonic):
    """Look at all processes, for some seconds at most. Needs root, who may read the mappings of all."""
    mapped, complete, deadline = {}, True, clock() + _SECONDS
    for pid in processes.all_pids():
        if clock() > deadline:
            complete = False
            break
        paths, whole = of_process(pid)
        complete = complete and whole
        if paths:
            mapped.setdefault(unit_of(processes.Process(pid).cgroup), set()).update(paths)
    return Found([_named(unit, mapped[unit]) for unit in sorted(mapped)[:_UNITS]], complete and len(mapped) <= _UNITS)


def of_process(pid):
    """(paths of the deleted files whose code a process has mapped, whether all its mappings were read)."""
    found = set()
    try:
        for number, line in enumerate(each_line(f"/proc/{pid}/maps")):
            if number >= _LINES:
                return found, False
            path = _replaced(line)
            if path:
                found.add(path)
    except PermissionError:
        return found, False
    return found, True


def _replaced(line):
    """Path in a line of /proc/PID/maps if it is code of a package that was deleted, else empty."""
    words = line.split(maxsplit=5)
    if len(words) < 6 or words[1][2:3] != "x" or not words[5].endswith(_DELETED):
        return ""
    path = words[5][: -len(_DELETED)]
    # A file may have the ending as a part of its name.
    is_there = os.path.lexists(words[5])
    return path if path.startswith(_PACKAGED) and not is_there else ""


def unit_of(cgroup):
    """The unit that systemd restarts for what runs in a control group. What lies below it is its own affair, or another manager's."""
    return next((part for part in cgroup.split("/") if _UNIT.fullmatch(part)), "(no unit)")


def _named(unit, paths):
    names = sorted(printable(os.path.basename(path))[:255] for path in paths)
    return {"unit": unit, "count": len(names), "files": names[:_FILES]}
