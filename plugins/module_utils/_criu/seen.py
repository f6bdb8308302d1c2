# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What can be seen of a running unit that CRIU may not be able to carry; `checks` judge it."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import socket
import stat
import time
from dataclasses import dataclass, replace

from .._files import each_line, read_lines, read_text
from .._system import (
    descriptors,
    memory,
    memory_paths,
    mountinfo,
    private_places,
    processes,
    smaps,
    sysv,
    tcp_states,
    unix_sockets,
)
from .._system.sockets import Tables
from . import command
from .carried import links

JOURNAL = "/run/systemd/journal/stdout"
# Sockets for datagrams that systemd has open before any restore. Who reads from them remembers nothing of who has sent: syslog(3),
# sd_journal_send(3), sd_notify(3). CRIU connects to them by their names.
_STATELESS = ("/run/systemd/journal/dev-log", "/run/systemd/journal/socket", "/run/systemd/notify")

#: Types of unix sockets with connections, whose ends are made anew where they lead to another unit (`_update.pairs`).
CONNECTED = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET)
# Services that every boot needs early, and for itself.
_OF_THE_NODE = ("systemd-", "dbus", "kup-")

_NAMESPACES = ("pid", "net", "user")
_ALL_NAMESPACES = (*_NAMESPACES, "mnt")
_MOMENT = 1  # seconds
# Kinds of file systems whose server decides what root may open.
_SERVED = ("nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs")
_DELETED = " (deleted)"
# What fdinfo has to be read of.
_TELLING = ("anon_inode:[eventfd]", "anon_inode:inotify")
# IN_ONESHOT in the mask of a watch
_WATCHED_ONCE = re.compile(r"^inotify .* mask:[89a-f][0-9a-f]{7} ", re.MULTILINE)
# Memory without a name, which the kernel calls deleted files: it travels as other memory does.
_NAMELESS = ("/memfd:", "/dev/zero (", "/anon_hugepage (", "/SYSV")


@dataclass(frozen=True)
class Around:
    """What a process is judged by.

    ``parents``: pid → parent's pid of the unit's processes, empty if that cannot be told; ``namespaces``: kind → the host's, and
    of "mnt" the main process's; ``volatile``: device numbers ("00:1c") of file systems in memory; ``mqueue``: that of POSIX
    message queues; ``travelling``: of file systems in memory whose files go along; ``criu``: its version, empty if it is not installed;
    ``page_list_max``: bytes that its list of a mapping's pages can have, 0 where it makes none.
    """

    main_pid: int
    cgroup: str
    parents: dict
    namespaces: dict
    volatile: frozenset
    mqueue: str = ""
    travelling: frozenset = frozenset()
    criu: str = ""
    page_list_max: int = 0

    def loses(self, path, device):
        """Whether a file with this ``path`` on this ``device`` ends with the kernel."""
        return device in self.volatile and not (device in self.travelling and memory_paths.travels(path))


@dataclass(frozen=True)
class Outsider:
    """A process that descends from the unit's, and is not in the list of its control group: its ``parent`` (pid), and ``cgroup``."""

    text: str
    parent: int
    cgroup: str


@dataclass(frozen=True)
class Process:
    """``tracer``: its pid or empty; ``cgroup``: path; ``userfaultfd``: some memory is registered with it; ``directory``: the working
    directory, if the next boot has not got it; ``shared_code``: the first executable mapping, if CRIU cannot write there;
    ``memory_policy``: the first one that is not the usual, where memory has several nodes; ``longest``: bytes of the longest private
    mapping, where CRIU makes a list of its pages; ``policies``: of scheduling, as sched_getscheduler(2) tells them."""

    pid: int
    namespaces: dict
    tracer: str
    cgroup: str
    userfaultfd: bool
    directory: str = ""
    shared_code: str = ""
    memory_policy: str = ""
    longest: int = 0
    policies: frozenset = frozenset()


@dataclass(frozen=True)
class Deleted:
    """A deleted file: its ``size``, and what is ``allocated`` of it, without holes; bytes, 0 for a file with a name."""

    size: int = 0
    allocated: int = 0


@dataclass(frozen=True)
class Mapping:
    """A mapped ``path`` as in /proc/PID/maps, and the number of its ``device`` ("00:1c"; empty in a private place, whose files go along);
    ``private``: the next boot has not got the file; ``deleted``: nor has it a name."""

    path: str
    device: str
    private: bool = False
    deleted: Deleted = Deleted()


@dataclass(frozen=True)
class Descriptor:
    """An open descriptor, and what was seen of its kind.

    ``target``: of the link in /proc/PID/fd; ``holder``: pid outside of the unit that has the same pipe, or the same end of a connection to
    another carried unit; ``inode`` and ``peer`` (path, or words) of a unix socket that leads to what is not carried; ``peer_unit``: the
    service there, where carrying it as well would do; ``maker``: pid of the process that is not carried and
    made the other end of a connection to another carried unit; ``stateless``: it sends datagrams to systemd there; ``peer_user``: its user id,
    where it is in the unit and neither root nor of the same user; ``moved``: the name of one whose file has another name now, which it
    would not get again; ``kind`` of any other socket; ``connection``: both ends of one over the loopback to the process ``holder`` of no
    carried unit; of files: number of the ``device`` of a regular one (empty in a private place, whose files go along), ``external``: CRIU's
    name where it is on a mount that the unit does not have, ``private``: the next boot has not got it at its path, ``unseen``: it is
    written to, and its path leads elsewhere outside of the unit, ``unreadable``: why it cannot be looked at, ``closed``: why root cannot open
    it on the server that has it, ``alien``: pid of the process that is not carried, of whom it tells, ``deleted``: it has no name;
    ``signed``: its segments are signed by keys of its own;
    ``semaphore``: it is an eventfd that counts as one; ``watches_once``: an inotify has a watch that ends with its first event.
    """

    number: int
    target: str
    holder: int = 0
    inode: int = 0
    peer: str = ""
    peer_unit: str = ""
    maker: int = 0
    stateless: bool = False
    kind: descriptors.Kind | None = None
    peer_user: int = 0
    moved: str = ""
    connection: str = ""
    device: str = ""
    external: str = ""
    private: bool = False
    unseen: bool = False
    unreadable: str = ""
    closed: str = ""
    alien: int = 0
    signed: bool = False
    deleted: Deleted = Deleted()
    semaphore: bool = False
    watches_once: bool = False

    @property
    def text(self):
        """What an operator calls it."""
        return f"descriptor {self.number} ({self.target})"


@dataclass(frozen=True)
class Crowd:
    """What CRIU holds at once: the ``connections`` of a unit, and the most ``descriptors`` that one of its processes has."""

    connections: int
    descriptors: int


def crowd(unit, sockets):
    """`Crowd` of a `Unit`.

    :param sockets: internet sockets of its processes.
    """
    connections = {found.inode for found in sockets if found.protocol.startswith("tcp") and found.connected}
    return Crowd(len(connections), max((len(each.numbers) for each in unit.processes), default=0))


def version():
    """The installed CRIU, as `Around` has it."""
    return command.version() if shutil.which("criu") else ""


def around(unit, criu):
    """`Around` of an active `Unit`.

    :param criu: `version`, which takes a process to tell.
    """
    # Before the package is installed: who is whose child is looked at once it is.
    parents = {each.pid: each.parent for each in unit.processes} if processes.HAS_PSUTIL else {}
    host = {kind: os.readlink(f"/proc/1/ns/{kind}") for kind in (*_NAMESPACES, "ipc")}
    host["mnt"] = unit.main.namespace("mnt")
    travelling = frozenset(_device(*number) for number in memory_paths.devices())
    return Around(
        main_pid=unit.main_pid,
        cgroup=unit.cgroup,
        parents=parents,
        namespaces=host,
        volatile=_volatile_devices(),
        mqueue=_mqueue_device(),
        travelling=travelling,
        criu=criu,
        page_list_max=_page_list_max(criu, os.uname().release),
    )


def _page_list_max(criu, kernel):
    """criu/pagemap-cache.c allocates 8 bytes for each page of the longest private mapping, unless the kernel names the pages that are there
    (PAGEMAP_SCAN). One allocation gets no more than all memory and swap (Documentation/mm/overcommit-accounting.rst).
    """
    if not criu or (command.numbers(criu) >= (4, 0) and command.numbers(kernel) >= (6, 7)):
        return 0
    sizes = memory.sizes(read_text("/proc/meminfo"))
    return sizes["MemTotal"] + sizes["SwapTotal"]


def outsiders(unit):
    """Yield an `Outsider` for each descendant of the unit's processes that is none of them.

    One that has ended and nobody has waited for is in no list of its control group.
    """
    parents = processes.parents()
    inside = {each.pid for each in unit.processes}
    for pid in parents:
        above = pid
        while above in parents and above not in inside:
            above = parents[above]
        if above in inside and pid not in inside:
            one = processes.Process(pid)
            yield Outsider(f"{one.name}[{pid}]", parents[pid], one.cgroup)


def ipc_objects(unit, host):
    """System V objects of a unit in the node's IPC namespace ``host``, but for attached segments: `sysv.Object`s."""
    if unit.main.namespace("ipc") != host:
        return []  # CRIU carries a namespace of the unit's own
    pids = frozenset(each.pid for each in unit.processes)
    users = frozenset(int(word) for each in unit.processes for word in each.status("Uid").split())
    found = [each for each in sysv.objects() if each.belongs_to(pids, users)]
    return [each for each in found if not each.attached]


def process(one, mounts, around):
    """What was seen of a `processes.Process`.

    :param mounts: what it has mounted (`view.Mounts`), if its unit has mounts of its own; else None.
    :param around: see `Around`.
    """
    # "um": registered with userfaultfd(2). CRIU leaves out the pages that have not come, and says nothing.
    userfaultfd = any(smaps.search(f"{one.path}/smaps", rb"^VmFlags:.* um\b"))
    return Process(
        pid=one.pid,
        namespaces={kind: one.namespace(kind) for kind in _ALL_NAMESPACES},
        tracer=one.status("TracerPid").lstrip("0"),
        cgroup=one.cgroup,
        userfaultfd=userfaultfd,
        directory=_private_directory(one, mounts),
        shared_code=_shared_code(each_line(f"{one.path}/maps")),
        memory_policy=_memory_policy(one),
        # A million mappings are a second of reading.
        longest=_longest(each_line(f"{one.path}/maps")) if around.page_list_max else 0,
        policies=frozenset(_policies(one)),
    )


def _policies(one):
    for thread in one.threads:
        with contextlib.suppress(ProcessLookupError):  # it has ended
            yield os.sched_getscheduler(thread)


def _longest(rows):
    """Bytes of the longest private mapping (proc_pid_maps(5))."""
    private = (row[0].split("-") for row in (row.split(maxsplit=2) for row in rows) if row[1:] and row[1][3:] == "p")
    return max((int(end, 16) - int(start, 16) for start, end in private), default=0)


def _memory_policy(one):
    if read_text("/sys/devices/system/node/has_memory", "0").strip().isdigit():  # a single node
        return ""
    rows = (row.split() for row in each_line(f"{one.path}/numa_maps"))
    return next((row[1] for row in rows if len(row) > 1 and row[1] != "default"), "")


def _shared_code(rows):
    """The first executable mapping (proc_pid_maps(5)), if it is shared and cannot be written."""
    fields = (row.split(maxsplit=5) for row in rows)
    first = next((row for row in fields if len(row) > 4 and row[1][2] == "x"), None)
    if first is None or first[1][1] == "w" or first[1][3] != "s":
        return ""
    return first[5] if len(first) > 5 else f"at {first[0]}"


def _private_directory(one, mounts):
    try:
        path = os.readlink(f"{one.path}/cwd")
    except OSError:  # it has ended
        return ""
    return path if not path.endswith(_DELETED) and _is_lost(f"{one.path}/cwd", path, mounts) else ""


def _is_lost(link, path, mounts):
    """Whether this path of a process, with the ``link`` in /proc to what is there, leads to something else in the next boot."""
    return not _same_file(link, path) and not (mounts and mounts.lasting(path))


def mappings(one, mounts):
    """Each mapped file of a process, once. Parameters: see `process`."""
    rows = (line.split(maxsplit=5) for line in each_line(f"{one.path}/maps"))
    places = {tuple(row[3:6]): row[0] for row in rows if len(row) > 5}
    return [
        _mapping(path, device, f"{one.path}/map_files/{place}", mounts)
        for (device, _inode, path), place in places.items()
    ]


def _mapping(path, device, link, mounts):
    if path.startswith(_NAMELESS):
        return Mapping(path, device)
    if mounts and mounts.private(path):
        device = ""
    if not path.endswith(_DELETED):
        return Mapping(path, device, bool(mounts) and _is_private(link, path, mounts))
    try:
        return Mapping(path, device, deleted=_deleted(os.stat(link)))
    except OSError:  # unmapped since it was listed
        return Mapping(path, device)


def _deleted(status):
    """`Deleted` of a file with this status that is listed as deleted."""
    # If another name is left, CRIU makes a link.
    if not stat.S_ISREG(status.st_mode) or status.st_nlink:
        return Deleted()
    return Deleted(status.st_size, status.st_blocks * 512)


def _is_private(link, path, mounts):
    return path.startswith("/") and os.path.exists(link) and _is_lost(link, path, mounts)


class Descriptors:
    """Looks at the descriptors of a unit's processes; connections and pipes are matched by the whole unit and node.

    :param carried: `carried.Carried`, all units that travel together.
    """

    def __init__(self, unit, carried):
        self.tables = Tables()
        self._later = None
        self._unix = unix_sockets.table()
        # CRIU looks from the root of the unit's mount namespace. One that has changed its root directory sees the mounts below that only;
        # with mounts of its own the main process has not (`view_checks.changed_root`).
        outlook = unit.main.path if unit.own_mounts else "/proc/self"
        self._view = f"{outlook}/root"
        self._mounts = {row.number: row.kind for row in mountinfo.of(outlook)}
        self._inodes = links([unit])
        self._carried = carried
        self._pids = {each.pid for each in unit.processes}
        self._links = carried.links | self._inodes
        self._elsewhere = _held_elsewhere(unit)
        self._asked = set()

    def of(self, one, sockets, mounts):
        """Yield a `Descriptor` for each of process ``one`` that may stand in the way.

        :param sockets: its internet sockets.
        :param mounts: see `process`.
        """
        listed = {found.inode: found for found in sockets}
        for table in ("netlink", "packet"):
            words = (row.split() for row in read_lines(f"{one.path}/net/{table}")[1:])
            listed.update((int(row[-1]), None) for row in words if row and row[-1].isdigit())
        with descriptors.Copies(one) as copies:
            for number, target in one.descriptors():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # closed since it was listed
                    if target.startswith("socket:["):
                        found = self._socket(one, copies, number, target, listed)
                    elif target.startswith("/"):
                        found = self._of_process(number, target) or _file(one, number, target, self._mounts, mounts)
                    else:
                        found = _nameless(one, number, target, self._elsewhere.get(target, 0))
                    if found:
                        yield found

    def _of_process(self, number, target):
        """Of a file in /proc that tells of a process which is not carried; else None."""
        about = re.match(r"/proc/(\d+)/", target)
        pid = int(about.group(1)) if about else 0
        # CRIU itself cares for those of processes that have ended.
        if not pid or pid in self._pids or self._carried.holds(pid) or not os.path.exists(f"/proc/{pid}"):
            return None
        return Descriptor(number, target, alien=pid)

    def _socket(self, one, copies, number, target, listed):
        inode = int(target[8:-1])
        if inode in self._unix:
            return self._unix_socket(one, copies, number, target, self._unix[inode])
        found = listed.get(inode)
        tcp = found is not None and found.protocol.startswith("tcp")
        if inode in self._asked:  # processes share sockets
            return None
        self._asked.add(inode)
        kind = copies.kind_of(number)
        leads = self._leads_to(one, found) if tcp else {}
        # Of thousands of connections nearly all are like this.
        plain = kind is None or (tcp and kind.protocol == socket.IPPROTO_TCP and not kind.on_top and not kind.filtered)
        signed = tcp and inode in self._signed
        return (
            None
            if plain and not leads and not signed
            else Descriptor(number, target, kind=kind, signed=signed, **leads)
        )

    @functools.cached_property
    def _signed(self):
        return tcp_states.signed()

    def _unix_socket(self, one, copies, number, target, unix):
        if not unix.peer:
            path = unix.path if unix.path.startswith("/") else ""
            named = unix.path and not unix.path.startswith("@")
            return (
                Descriptor(number, target, moved=unix.path)
                if named and copies.moved(number, path, self._view)
                else None
            )
        if f"socket:[{unix.peer}]" in self._inodes:
            user = copies.peer_user(number) or 0
            same = user <= 0 or str(user) in one.status("Uid").split()
            return None if same else Descriptor(number, target, peer_user=user)
        return self._leading_out(copies, number, target, unix)

    def _leading_out(self, copies, number, target, unix):
        """A `Descriptor` of a socket whose peer is not of this unit; None where that is no hindrance."""
        holder = self._elsewhere.get(f"socket:[{unix.peer}]", 0)
        if unix.type not in CONNECTED:
            return self._outward(number, target, unix)
        if f"socket:[{unix.peer}]" in self._links or (holder and self._carried.holds(holder)):
            return self._end(copies, number, target)
        # Otherwise the peer has closed it since it was listed.
        return self._outward(number, target, unix, _service(holder)) if holder or _leads(unix) else None

    def _outward(self, number, target, unix, service=""):
        """A `Descriptor` of a socket that leads to what is not carried."""
        peer = self._unix.get(unix.peer)
        where = peer.path if peer is not None and peer.path else "a process outside the unit"
        stateless = peer is not None and peer.type == socket.SOCK_DGRAM and where in _STATELESS and self._is_seen(where)
        return Descriptor(number, target, inode=unix.inode, peer=where, peer_unit=service, stateless=stateless)

    def _end(self, copies, number, target):
        """A `Descriptor` of one end of a connection to another carried unit, if it cannot be made anew; else None."""
        shared, maker = self._elsewhere.get(target, 0), copies.peer_pid(number) or 0
        if maker > 0 and os.path.exists(f"/proc/{maker}") and not self._carried.holds(maker):
            return Descriptor(number, target, holder=shared, maker=maker)
        return Descriptor(number, target, holder=shared) if shared else None

    def _is_seen(self, path):
        """Whether ``path`` leads to the node's own file in the unit's view, in which CRIU connects."""
        return _same_file(f"{self._view}{path}", path)

    def _leads_to(self, one, found):
        """Fields of a `Descriptor` of a connection that leads to a process of this node which stays behind."""
        other = f"socket:[{self.tables.other_end(one, found)}]" if found.connected else ""
        # The holder of one that was opened a moment ago may not be known yet; it counts if it lasts.
        if other in ("", "socket:[0]") or other in self._links or not self._lasts(one, found):
            return {}
        ends = " to ".join(f"{address}:{port}" for address, port in (found.local, found.remote))
        return {"connection": ends, "holder": self._elsewhere.get(other, 0)}

    def _lasts(self, one, found):
        """Whether the connection is still there a moment later: a monitor asks something and is gone."""
        if self._later is None:
            time.sleep(_MOMENT)
            self._later = Tables()
        return self._later.other_end(one, found) != 0


def _leads(unix):
    """Whether this `UnixSocket` is still connected to the same peer."""
    now = unix_sockets.table().get(unix.inode)
    return now is not None and now.peer == unix.peer


def _service(pid):
    """The service of a process, if it can be carried as any other; empty: none."""
    name = processes.Process(pid).cgroup.rpartition("/")[2] if pid else ""
    return name if name.endswith(".service") and not name.startswith(_OF_THE_NODE) else ""


def _nameless(one, number, target, holder):
    """A `Descriptor` of what is neither a socket nor a file with a path."""
    found = Descriptor(number, target, holder=holder)
    if target not in _TELLING:
        return found
    # Kernels before 6.5 do not tell of semaphores, and those before 5.19 not of flags of watches.
    told = read_text(f"{one.path}/fdinfo/{number}", "")
    semaphore, once = "\neventfd-semaphore: 1" in told, _WATCHED_ONCE.search(told) is not None
    return replace(found, semaphore=semaphore, watches_once=once)


def _file(one, number, target, kinds, mounts):
    if target.startswith(("/memfd:", "/proc/")):
        return None  # CRIU carries memfds in its images
    link = f"{one.path}/fd/{number}"
    try:
        status = os.stat(link)
    except (FileNotFoundError, ProcessLookupError):
        raise
    except OSError as error:  # such as a file of a dead FUSE server
        return Descriptor(number, target, unreadable=error.strerror)
    if target.endswith(_DELETED):
        return Descriptor(number, target, deleted=_deleted(status))
    mount, writes = _opened(one, number)
    # Opened by systemd before it made the unit's own mounts: CRIU must be told (fdinfo is decimal, CRIU hex).
    foreign = bool(mount) and mount not in kinds
    # A path that is the same outside leads to another file there.
    goes_along = mounts is not None and not foreign and mounts.private(target)
    is_regular = stat.S_ISREG(status.st_mode) and not goes_along
    return Descriptor(
        number,
        target,
        device=_device(os.major(status.st_dev), os.minor(status.st_dev)) if is_regular else "",
        external=f"file[{int(mount):x}:{status.st_ino:x}]" if foreign else "",
        private=not foreign and _is_lost(link, target, mounts),
        unseen=not foreign and writes and is_regular and not _same_file(link, target),
        closed=_closed(link, writes, kinds.get(mount, "")),
    )


def _opened(one, number):
    """Number of the mount on which a file was opened, empty if that is not told, and whether it may be written to."""
    information = read_text(f"{one.path}/fdinfo/{number}", "")
    mount = re.search(r"^mnt_id:\s*(\d+)", information, re.MULTILINE)
    # Octal: O_WRONLY or O_RDWR.
    return mount.group(1) if mount else "", bool(re.search(r"^flags:\s*\d*[1-35-7]$", information, re.MULTILINE))


def _closed(link, writes, kind):
    """Why root cannot open a file anew, as CRIU does at the restore; empty if it can. A server may take root for nobody.

    :param kind: of the file system.
    """
    if kind not in _SERVED or not os.path.isfile(link):
        return ""
    try:
        os.close(os.open(link, (os.O_RDWR if writes else os.O_RDONLY) | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC))
    except PermissionError as error:
        return error.strerror
    except OSError:  # such as a program that runs
        return ""
    return ""


def _same_file(descriptor, path):
    try:
        held, named = os.stat(descriptor), os.stat(path)
    except OSError:
        return False
    # A device node of a private /dev is another inode for the same device.
    return (held.st_rdev and held.st_rdev == named.st_rdev) or os.path.samestat(held, named)


def _device(major, minor):
    """A device number as /proc/PID/maps prints it."""
    return f"{major:02x}:{minor:02x}"


def _volatile_devices():
    volatile = [row.device.split(":") for row in mountinfo.of("/proc/1") if row.kind in private_places.VOLATILE]
    return frozenset(_device(int(major), int(minor)) for major, minor in volatile)


def _mqueue_device():
    try:
        device = os.stat("/dev/mqueue").st_dev
    except OSError:
        return ""
    return _device(os.major(device), os.minor(device))


def _held_elsewhere(unit):
    """Pipes and sockets that processes outside of the unit hold: dict link text → pid."""
    pids = {each.pid for each in unit.processes}
    others = (
        processes.Process(int(entry)) for entry in os.listdir("/proc") if entry.isdigit() and int(entry) not in pids
    )
    held = ((target, other.pid) for other in others for _number, target in other.descriptors())
    found = {target: pid for target, pid in held if target.startswith(("pipe:[", "socket:["))}
    # What the unit has started since its processes were listed is no stranger, nor is what has ended.
    born = {each.pid for each in processes.in_cgroup(unit.cgroup)} if unit.cgroup else set()
    return {target: pid for target, pid in found.items() if pid not in born and os.path.exists(f"/proc/{pid}")}
