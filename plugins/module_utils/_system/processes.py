# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What processes are and hold: by psutil, and from /proc what psutil does not tell.

psutil knows no control groups, namespaces, tracers and fdinfo. Of memory it gives swap and shared memory with a walk over
page tables or not at all, and of sockets neither queues nor inodes. The ids of threads are read within the freeze,
where psutil would open a file for each (60 µs a process instead of 2).
"""

from __future__ import annotations

import os
import re

from .._errors import KupError, printable
from .._files import read_lines, read_text

try:
    import psutil
except ImportError:
    HAS_PSUTIL = False
else:
    HAS_PSUTIL = True

_PROC = "/proc"
_UNIFIED = "0::"  # cgroups(7): the row of version 2 in /proc/PID/cgroup
_STARTED = 19  # proc_pid_stat(5): the place of starttime behind the name
#: Where systemd has mounted the control groups, version 2.
CGROUPS = "/sys/fs/cgroup"


class Process:
    """One process as it is now.

    Reading a process that has ended gives empty values; callers look at frozen or at least long-lived ones.
    """

    def __init__(self, pid):
        self.pid = pid
        self.path = f"{_PROC}/{pid}"

    @property
    def exists(self):
        """Whether it has not ended, or has and nobody has waited for it."""
        return os.path.exists(self.path)

    @property
    def name(self):
        """The command name (at most 15 bytes, any but NUL), as it can be printed."""
        return printable(read_text(f"{self.path}/comm", "?"))

    def status(self, field):
        """A field of /proc/PID/status, e.g. ``TracerPid``; empty text where absent."""
        match = re.search(rf"^{field}:\s*(.*)$", read_text(f"{self.path}/status", ""), re.MULTILINE)
        return match.group(1) if match else ""

    def size(self, field):
        """A size of /proc/PID/status in bytes, e.g. ``VmSwap``; 0 where absent."""
        return int((self.status(field).split() or ["0"])[0]) * 1024

    @property
    def parent(self):
        """Pid of the parent; 0 where this process has ended."""
        return self._ask("ppid") or 0

    @property
    def rss(self):
        """Resident bytes."""
        memory = self._ask("memory_info")
        return memory.rss if memory else 0

    def _ask(self, method):
        """What psutil's ``method`` tells of the process; None where it has ended.

        :raises KupError: psutil is not installed.
        """
        if not HAS_PSUTIL:
            raise KupError("The Python module psutil is missing on this node; install python3-psutil.")
        try:
            return getattr(psutil.Process(self.pid), method)()
        except psutil.Error:
            return None

    @property
    def shmem(self):
        """Resident bytes of shared memory."""
        return self.size("RssShmem")

    @property
    def threads(self):
        """Ids of all threads."""
        return _numbers(f"{self.path}/task")

    @property
    def numbers(self):
        """Numbers of all open descriptors."""
        return _numbers(f"{self.path}/fd")

    def descriptors(self):
        """Yield (number, target of the /proc link) for every open descriptor."""
        for number in self.numbers:
            try:
                yield number, os.readlink(f"{self.path}/fd/{number}")
            except OSError:
                continue  # closed in between

    @property
    def started(self):
        """When it was started, in clock ticks after the machine's start, as text; empty where it has ended."""
        words = _stat(self.path)
        return words[_STARTED] if len(words) > _STARTED else ""

    @property
    def stopped(self):
        """Whether none of its threads runs any more, because a tracer has stopped them or because they have ended."""
        states = (_stat(f"{self.path}/task/{thread}")[:1] for thread in self.threads)
        return all(state in (["t"], ["Z"], ["X"], []) for state in states)

    @property
    def cgroup(self):
        """Path of the control group (version 2); empty where it has ended."""
        rows = read_lines(f"{self.path}/cgroup")
        return next((row[len(_UNIFIED) :] for row in rows if row.startswith(_UNIFIED)), "")

    def namespace(self, kind):
        """Inode text of a namespace, e.g. ``mnt:[4026531841]``."""
        try:
            return os.readlink(f"{self.path}/ns/{kind}")
        except OSError:
            return ""


def _numbers(directory):
    try:
        return sorted(int(entry) for entry in os.listdir(directory) if entry.isdigit())
    except OSError:
        return []


def _stat(path):
    """The fields of /proc/PID/stat behind the name, beginning with the state; none where the process has ended."""
    # proc_pid_stat(5): the name, in parentheses, may have any bytes, parentheses among them.
    return read_text(f"{path}/stat", "").rpartition(")")[2].split()


def all_pids():
    """Pids of all processes of the node, in order."""
    return _numbers(_PROC)


def parents():
    """Parents of all processes of the node: dict pid → the parent's pid."""
    found = {}
    for pid in all_pids():
        words = _stat(f"{_PROC}/{pid}")
        if len(words) > 1:
            found[pid] = int(words[1])
    return found


def in_cgroup(path):
    """Processes of the cgroup (v2) ``path``, e.g. /system.slice/memcached.service, children included."""
    found = []
    for directory, _children, files in os.walk(f"{CGROUPS}{path}"):
        if "cgroup.procs" in files:
            found += [int(pid) for pid in read_text(f"{directory}/cgroup.procs", "").split()]
    return [Process(pid) for pid in sorted(found)]
