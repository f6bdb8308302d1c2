# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Can CRIU move this unit, and if not, what exactly stands in the way?

`examine` looks at every process, descriptor and mapping of a running unit. What CRIU needs to be told about (a
descriptor whose other end is outside the tree) comes back as an external; what it cannot move, as a problem.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import stat
from dataclasses import asdict, dataclass, field

from .._files import read_text
from .._system import sockets as inet_sockets
from .._system import unix_sockets

JOURNAL = "/run/systemd/journal/stdout"

# criu/files.c, dump_one_file(): the anonymous inodes that have dump operations.
_ANONYMOUS = ("eventfd", "eventpoll", "timerfd", "signalfd", "inotify", "fanotify", "pidfd")
# criu/files.c, dump_chrdev(): devices of mem(4) and tun; anything else has state in a driver.
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

# criu/sockets.c, dump_socket().
_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_PACKET, socket.AF_NETLINK)
_NO_SHM = "configure it to use anonymous shared memory or files on a disk"
# File systems whose files a kernel takes with it.
_VOLATILE = ("tmpfs", "ramfs", "devtmpfs", "hugetlbfs")


@dataclass
class Problem:
    """One obstacle: ``process`` ("name[pid]"), ``object`` (descriptor, mapping …), ``why`` and ``help``."""

    unit: str
    process: str
    object: str
    why: str
    help: str

    def sentence(self):
        """The whole as one sentence."""
        who = f" process {self.process}" if self.process else ""
        return f"{self.unit}:{who} {self.object} {self.why}; {self.help}."

    as_dict = asdict


@dataclass
class Findings:
    """What `examine` saw.

    ``problems``; ``journal``: descriptor number → inode of a stream to the journal; ``external_files``: CRIU's name
    of the file (``file[mnt:inode]``) → path to open at restore; ``sockets``: inet sockets; ``file_locks``: held any.
    """

    problems: list = field(default_factory=list)
    journal: dict = field(default_factory=dict)
    external_files: dict = field(default_factory=dict)
    sockets: list = field(default_factory=list)
    file_locks: bool = False


def examine(unit):
    """Examine an active `Unit`; returns `Findings`."""
    return _Examination(unit).result()


class _Examination:
    def __init__(self, unit):
        self.unit = unit
        self.found = Findings()
        self.unix = unix_sockets.table()
        self.pids = {process.pid for process in unit.processes}
        self.inodes = {
            target for process in unit.processes for _number, target in process.descriptors() if target.endswith("]")
        }
        self.elsewhere = _pipes_elsewhere(self.pids)
        self.volatile = _volatile_devices()

    def result(self):
        parents = {process.pid: int(process.status("PPid") or 0) for process in self.unit.processes}
        for process in self.unit.processes:
            known_before = len(self.found.problems)
            self._tree(process, parents)
            self._process(process)
            self._mappings(process)
            known = self._inet(process)
            for number, target in process.descriptors():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # closed since it was listed
                    self._descriptor(process, number, target, known)
            if not process.exists:  # it has ended since: whatever seemed odd about it
                del self.found.problems[known_before:]
        locks = read_text("/proc/locks", "").splitlines()
        self.found.file_locks = any(int(pid) in self.pids for pid in _lock_owners(locks))
        return self.found

    def _problem(self, process, thing, why, advice):
        who = f"{process.name}[{process.pid}]" if process else ""
        self.found.problems.append(Problem(self.unit.name, who, thing, why, advice))

    def _tree(self, process, parents):
        pid = process.pid
        while pid in parents and pid != self.unit.main_pid:
            pid = parents[pid]
        if pid != self.unit.main_pid:
            self._problem(
                process,
                "the process",
                f"is no descendant of the main process {self.unit.main_pid}",
                "only one tree of processes per unit can be moved, split the unit",
            )

    def _process(self, process):
        for kind, setting in (
            ("pid", "a pid namespace"),
            ("net", "PrivateNetwork=/NetworkNamespacePath="),
            ("user", "PrivateUsers="),
        ):
            own = process.namespace(kind)
            if own and own != os.readlink(f"/proc/1/ns/{kind}"):
                self._problem(process, f"its {kind} namespace", "is not the host's", f"run the unit without {setting}")
        if process.status("TracerPid") not in ("", "0"):
            self._problem(
                process, "the process", f"is traced by pid {process.status('TracerPid')}", "end the debugger or tracer"
            )
        cgroup = read_text(f"{process.path}/cgroup", "").rpartition("::")[2]
        if cgroup and cgroup != self.unit.cgroup:
            self._problem(
                process,
                f"its control group {cgroup}",
                "is below the unit's own",
                "units that manage control groups themselves (Delegate=) cannot be moved",
            )

    def _mappings(self, process):
        # "um": registered with userfaultfd(2). CRIU leaves out the pages that have not come, and says nothing.
        if re.search(r"^VmFlags:.* um\b", read_text(f"{process.path}/smaps", ""), re.MULTILINE):
            self._problem(process, "its memory", "is still flowing in (userfaultfd)", "wait until it is in place")
        for line in read_text(f"{process.path}/maps", "").splitlines():
            path = line.split(maxsplit=5)[5] if len(line.split(maxsplit=5)) > 5 else ""
            if path.startswith("/SYSV"):
                self._problem(
                    process, "a System V shared memory segment", "is not dumped outside of an IPC namespace", _NO_SHM
                )
            elif path.startswith("/") and not path.endswith(" (deleted)") and line.split()[3] in self.volatile:
                self._problem(
                    process, f"the mapping of {path}", "is a file in memory, which ends with the kernel", _NO_SHM
                )
            elif path.startswith("/dev/") and not path.startswith(("/dev/zero", "/dev/shm/")):
                self._problem(process, f"the mapping of {path}", "is memory of a device", "stop using the device")
            elif "io_uring" in path:
                self._problem(process, "the mapping of an io_uring", "is unknown to CRIU", "turn io_uring off")

    def _inet(self, process):
        sockets = inet_sockets.of_process(process)
        self.found.sockets += sockets
        known = {found.inode for found in sockets}
        for table in ("netlink", "packet"):
            rows = read_text(f"{process.path}/net/{table}", "").splitlines()[1:]
            known |= {int(row.split()[-1]) for row in rows if row.split()[-1].isdigit()}
        return known

    def _descriptor(self, process, number, target, known):
        thing = f"descriptor {number} ({target})"
        if target.startswith("socket:["):
            self._socket(process, number, int(target[8:-1]), thing, known)
        elif target.startswith("pipe:["):
            if target in self.elsewhere:
                self._problem(
                    process, thing, f"is shared with pid {self.elsewhere[target]}", "log to the journal, not to a pipe"
                )
        elif target.startswith("anon_inode:"):
            if target.partition(":")[2].strip("[]") not in _ANONYMOUS:
                self._problem(process, thing, "is of a kind that CRIU cannot dump", "switch that feature off")
        elif target.startswith("/"):
            self._file(process, number, target, thing)

    def _socket(self, process, number, inode, thing, known):
        if inode in known:
            return
        unix = self.unix.get(inode)
        if unix is None:
            self._unlisted_socket(process, number, thing)
            return
        peer = self.unix.get(unix.peer)
        if not unix.peer or f"socket:[{unix.peer}]" in self.inodes:
            return
        if peer is not None and peer.path == JOURNAL:
            self.found.journal.setdefault(number, inode)
            return
        where = peer.path if peer is not None and peer.path != "*" else "a process outside the unit"
        self._problem(
            process,
            f"descriptor {number} (unix socket {inode})",
            f"is connected to {where}",
            "end that connection for the update (a hook before the checkpoint can do it) or let the unit log to stdout",
        )

    def _unlisted_socket(self, process, number, thing):
        """One of a family without a table, or one that was opened since the tables were read, or is closed by its peer."""
        kind = inet_sockets.kind_of(process, number)
        if kind is not None and kind[0] not in _FAMILIES:
            self._problem(
                process, thing, f"is of family {kind[0]}, which CRIU cannot dump", "switch off the feature that uses it"
            )

    def _file(self, process, number, target, thing):
        if target.endswith(" (deleted)") or target.startswith(("/memfd:", "/proc/")):
            return  # CRIU carries deleted files and memfds in its images
        device = target.startswith("/dev/") and not target.startswith(("/dev/shm/", "/dev/mqueue/"))
        if device and target not in _DEVICES:
            self._problem(process, thing, "is a device with state of its own", "stop using the device")
            return
        status = os.stat(f"{process.path}/fd/{number}")
        if (
            stat.S_ISREG(status.st_mode)
            and f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}" in self.volatile
        ):
            self._problem(process, thing, "is a file in memory, which ends with the kernel", _NO_SHM)
            return
        mount = re.search(r"^mnt_id:\s*(\d+)", read_text(f"{process.path}/fdinfo/{number}", ""), re.MULTILINE)
        mounts = read_text(f"{process.path}/mountinfo", "").splitlines()
        if mount and not any(row.split()[0] == mount.group(1) for row in mounts):
            # Opened by systemd before it made the unit's own mounts: CRIU must be told (fdinfo is decimal, CRIU hex).
            if target != "/dev/null":
                self._problem(process, thing, "lies on a mount outside the unit", "only /dev/null can be")
            self.found.external_files[f"file[{int(mount.group(1)):x}:{status.st_ino:x}]"] = target
        elif not _same_file(f"{process.path}/fd/{number}", target):
            self._problem(
                process,
                thing,
                "lies in the unit's own file system view (PrivateTmp=, BindPaths=, RootDirectory=…)",
                "let it use a path that is the same outside of the unit",
            )


def _volatile_devices():
    """Device numbers as /proc/PID/maps prints them ("00:1c") of all file systems in memory."""
    found = set()
    for row in read_text("/proc/1/mountinfo", "").splitlines():
        if row.partition(" - ")[2].split()[0] in _VOLATILE:
            major, minor = map(int, row.split()[2].split(":"))
            found.add(f"{major:02x}:{minor:02x}")
    return found


def _same_file(descriptor, path):
    try:
        held, named = os.stat(descriptor), os.stat(path)
    except OSError:
        return False
    # A device node of a private /dev is another inode for the same device.
    return (held.st_rdev and held.st_rdev == named.st_rdev) or os.path.samestat(held, named)


def _lock_owners(locks):
    # "1: POSIX  ADVISORY  WRITE 123 fe:01:42 0 EOF", with "->" before a waiter
    for row in locks:
        fields = row.replace("->", "").split()
        if len(fields) > 4 and fields[4].isdigit():
            yield fields[4]


def _pipes_elsewhere(pids):
    """Pipes that processes outside of ``pids`` hold: dict link text → pid."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) not in pids:
            try:
                links = [os.readlink(f"/proc/{entry}/fd/{number}") for number in os.listdir(f"/proc/{entry}/fd")]
            except OSError:
                continue
            found.update((link, int(entry)) for link in links if link.startswith("pipe:["))
    return found
