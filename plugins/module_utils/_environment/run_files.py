# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Files in memory that units use, below /run, /dev/shm and /tmp: the next boot has them before the restore.

A file that a unit has open or mapped, its working directory, the directory of its socket, its RuntimeDirectory=, a file with the id of
one of its processes: each of them travels with all that is in the same directory of a base, because applications also use files that
they do not keep open. So does what belongs to the unit's user, and of what root has in /tmp and /dev/shm all that is not too large, where the
unit runs as root: it cannot be told whose it is. Sockets are CRIU's.

What is in memory in a private directory of a unit (`private_places`) is among them.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import stat
from dataclasses import dataclass, field

from .._errors import KupError
from .._files import read_lines
from .._system import mountinfo, private_places, processes, smaps, unix_sockets
from .._system.memory_paths import BASES, base_of, top_of, travels
from .._system.units import show
from . import plan, private_files, tmpfiles, trees

#: For all units of a node: what is copied within the freeze.
BYTES_MAX = 16 << 20
OBJECTS_MAX = 5000
# What preflight has let pass may have grown since.
_GROWTH = 4

# For an object of root that the unit may use.
_ROOTS_BYTES, _ROOTS_OBJECTS = 2 << 20, 200
_ROOTS_BASES = ("/dev/shm", "/tmp")
# They are the boot's, or the display's.
_NOT_ROOTS = ("systemd-private-", ".X", ".ICE-unix", ".font-unix")

_PID_FILE_BYTES = 32
# Where pid files are looked for: /run/apache2.pid, /run/apache2/apache2.pid.
_DEPTH = 2
_LINKS_MAX = 40
# proc_pid_maps(5)
_MAPPED = rb"^\S+ \S+ \S+ \S+ [1-9]\d* +(/(?:run|dev/shm|tmp)/.*)$"
# proc_pid_fdinfo(5)
_WATCH = re.compile(r"inotify wd:\S+ ino:([0-9a-f]+) sdev:([0-9a-f]+) ")


@dataclass
class Use:
    """What a unit uses: ``needed``: paths that have to be there; ``tops``: objects of bases that travel whole; ``elsewhere``: paths
    in memory that it uses and that do not travel; ``places``: its private ones, as its ``main`` process sees them."""

    needed: set = field(default_factory=set)
    tops: set = field(default_factory=set)
    elsewhere: set = field(default_factory=set)
    places: list = field(default_factory=list)
    main: processes.Process | None = None

    def add(self, path, needed=True):
        """Note a path that the unit uses."""
        if private_places.below(self.places, path):
            return
        path, links = _resolve(path)
        for each in (*links, path):
            if not travels(each):
                continue
            self.tops.add(top_of(each))
            if needed:
                self.needed.update(_with_parents(each))
        if base_of(path) == "/run" and not travels(path) and path not in BASES:
            self.elsewhere.add(path)


def find(unit, mapped=True):
    """The `Use` of an active `Unit`.

    :param mapped: look at mappings, too, which takes time.
    """
    places, sockets = private_places.of(unit), unix_sockets.table()
    found = Use(places=places, main=unit.main if places else None)
    watched, known = set(), set()
    for process in unit.processes:
        _of_process(process, sockets, found, mapped, known)
        watched |= _watched(process)
    for path in _with_inodes(watched):
        found.add(path)
    _of_definition(unit.name, found)
    _of_pids_and_users(unit, found)
    _of_root(unit, found)
    return found


def survey(uses):
    """(number of objects, bytes) that `put_plan` would write."""
    memory = _Memory()
    walks = [trees.walk(top) for use in uses for top in memory.tops(use)]
    walks += [private_files.walk(use.main, place) for use in uses for place in private_files.copied(use.places)]
    # What is more is refused, however much it is.
    walked = itertools.islice(itertools.chain.from_iterable(walks), OBJECTS_MAX * _GROWTH)
    found = [status for _path, status, _parent in walked]
    return len(found), sum(status.st_size for status in found if stat.S_ISREG(status.st_mode))


class RunFiles:
    """The files in memory of all units of an update."""

    def __init__(self, units):
        """Note what takes time to find, while the units serve."""
        self._uses = [(unit, find(unit)) for unit in units]
        self._configuration = tmpfiles.configuration()

    def put_plan(self, plans, directory):
        """Write the plan, and the contents, while all is frozen.

        :param directory: the boot plan's, for the plans of private places.
        :raises KupError: it has become too much.
        """
        memory, steps, kept, taken, room = _Memory(), [], {}, set(), _Room()
        for unit, use in self._uses:
            # What has been opened since. A mapping of a closed file is not looked for again.
            known = set()
            for process in processes.in_cgroup(unit.cgroup):
                _of_process(process, {}, use, False, known)
            late = memory.mounts(use, unit.own_mounts)
            steps += [plan.step("mount", unit.name, words, required) for words, required in late]
            for top in sorted(memory.tops(use) - taken):
                for found in trees.objects(trees.walk(top), BYTES_MAX * _GROWTH):
                    kept[found.path] = found.status
                    room.take(unit.name, found)
                    steps += trees.steps(found, unit.name, found.path in use.needed, plans)
            taken |= use.tops
            private_files.put_plan(unit, use.places, directory, room)
            kept.update(private_files.kept(use.places))
            # Of what is on a disk, only what the boot would do to it matters.
            kept.update(_on_disk(use.tops - memory.tops(use)))
        steps += tmpfiles.steps(self._configuration, kept, plans)
        places = [place for _unit, use in self._uses for place in use.places]
        plans.put("2-files", steps + private_files.steps(places, plans))


class _Room:
    """What may still be copied, of all units together."""

    limit = property(lambda self: BYTES_MAX * _GROWTH)

    def __init__(self):
        self._size = self._count = 0

    def take(self, name, found):
        """Count an `Object` of the unit with this ``name``.

        :raises KupError: it has become too much.
        """
        self._size += len(found.content)
        self._count += 1
        if self._size > self.limit or self._count > OBJECTS_MAX * _GROWTH:
            raise KupError(
                f"{name}: its files in memory ({found.path} and others) have grown beyond {self.limit >> 20} MiB or "
                f"{OBJECTS_MAX * _GROWTH} files; remove what it does not need."
            )


def _on_disk(tops):
    for top in tops:
        with contextlib.suppress(FileNotFoundError):
            yield top, os.stat(top, follow_symlinks=False)


def _of_process(process, sockets, found, mapped, known):
    """Note what a process uses; ``known``: paths that others of its unit use as well, which are looked up once."""
    paths = [_link(f"{process.path}/cwd"), _link(f"{process.path}/root")]
    for _number, target in process.descriptors():
        if target.startswith("socket:["):
            name = sockets[int(target[8:-1])].path if int(target[8:-1]) in sockets else ""
            # The socket's own file is CRIU's. A relative name is one in the working directory.
            paths.append(os.path.dirname(name) if name.startswith("/") else "")
        else:
            paths.append(target)
    if mapped:
        paths += _mapped_paths(process)
    for path in paths:
        if not path.startswith("/") or path in known:
            continue
        known.add(path)
        # CRIU makes a deleted file anew, in its directory.
        deleted = path.endswith(" (deleted)")
        found.add(os.path.dirname(path) if deleted else path)


def _watched(process):
    """(device, inode) of what a process watches by inotify(7): CRIU finds it by its path."""
    found = set()
    for number, target in process.descriptors():
        if target == "anon_inode:inotify":
            rows = (_WATCH.match(row) for row in read_lines(f"{process.path}/fdinfo/{number}"))
            found |= {(_device(int(row[2], 16)), int(row[1], 16)) for row in rows if row}
    return found


def _device(number):
    # The kernel's own form, not that of stat(2).
    return os.makedev(number >> 20, number & 0xFFFFF)


def _with_inodes(wanted):
    """Paths below the bases of these (device, inode)."""
    devices = {device for device, _inode in wanted}
    for base in BASES:
        if not os.path.isdir(base) or os.stat(base).st_dev not in devices:
            continue
        for directory, _names, files, descriptor in os.fwalk(base, follow_symlinks=False):
            status = os.fstat(descriptor)
            if (status.st_dev, status.st_ino) in wanted:
                yield directory
            for name in files:
                with contextlib.suppress(OSError):
                    status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                    if (status.st_dev, status.st_ino) in wanted:
                        yield f"{directory}/{name}"


def _mapped_paths(process):
    # There may be very many.
    found = {match.group(1) for match in smaps.search(f"{process.path}/maps", _MAPPED)}
    return {os.fsdecode(path).replace("\\012", "\n") for path in found}


def _of_definition(name, found):
    told = show(name, "PIDFile", "RuntimeDirectory")
    if told["PIDFile"]:
        found.add(told["PIDFile"], needed=False)
    for directory in told["RuntimeDirectory"].split():
        found.add(f"/run/{directory}", needed=False)


def _of_pids_and_users(unit, found):
    pids = {str(process.pid).encode() for process in unit.processes}
    users = _users(unit) - {0}
    for base in BASES:
        for path, status, parent in _near(base, _DEPTH if base == "/run" else 1):
            if status.st_uid in users or (base == "/run" and _pid_in(path, status, parent) in pids):
                found.add(path, needed=False)


def _users(unit):
    """Ids of the users as whom its processes work. One that has ended has none."""
    told = (process.status("Uid") for process in unit.processes)
    return {int(text.split()[1]) for text in told if text}


def _of_root(unit, found):
    # With mounts of its own it may see another /tmp, and what it uses there is seen there.
    if unit.own_mounts or 0 not in _users(unit):
        return
    for base in _ROOTS_BASES:
        for path, status, _parent in _near(base, 1):
            if status.st_uid == 0 and not os.path.basename(path).startswith(_NOT_ROOTS) and _is_small(path):
                found.add(path, needed=False)


def _is_small(top):
    try:
        walked = [status.st_size for _path, status, _parent in itertools.islice(trees.walk(top), _ROOTS_OBJECTS + 1)]
    except (KupError, OSError):  # too deep, or gone
        return False
    return len(walked) <= _ROOTS_OBJECTS and sum(walked) <= _ROOTS_BYTES


def _near(directory, depth, parent=None):
    """Yield (path, status, descriptor of its directory) of all in a directory that travels, and in those in it, to a ``depth``."""
    name, links = (directory, 0) if parent is None else (os.path.basename(directory), os.O_NOFOLLOW)
    try:
        here = os.open(name, os.O_RDONLY | os.O_DIRECTORY | links, dir_fd=parent)
    except OSError:
        return
    try:
        for child in os.listdir(here):
            path = f"{directory}/{child}"
            try:
                status = os.stat(child, dir_fd=here, follow_symlinks=False)
            except OSError:  # removed since it was listed
                continue
            yield path, status, here
            if depth > 1 and stat.S_ISDIR(status.st_mode) and travels(path):
                yield from _near(path, depth - 1, here)
    finally:
        os.close(here)


def _pid_in(path, status, parent=None):
    """The content of a file, in the directory of the descriptor ``parent``, that may be a process id."""
    if not stat.S_ISREG(status.st_mode) or not 0 < status.st_size <= _PID_FILE_BYTES:
        return b""
    name = path if parent is None else os.path.basename(path)
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=parent)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(_PID_FILE_BYTES).strip()


def _link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _resolve(path):
    """``path`` without links in it, and the links that travel."""
    links, done, todo = [], "", path.split("/")
    while todo:
        part = todo.pop(0)
        if part in ("", "."):
            continue
        if part == "..":
            done = os.path.dirname(done).rstrip("/")
            continue
        here = f"{done}/{part}"
        target = _link(here) if len(links) < _LINKS_MAX else ""
        if target:
            links.append(here)
            done = "" if target.startswith("/") else done
            todo = target.split("/") + todo
        else:
            done = here
    return done or "/", [link for link in links if travels(link)]


def _with_parents(path):
    """``path`` and its ancestors below its base."""
    base = base_of(path)
    while path != base:
        yield path
        path = os.path.dirname(path)


class _Memory:
    """Which bases are in memory, as far as they are mounted."""

    def __init__(self):
        self._mounted = {}
        for row in mountinfo.of("/proc/self"):
            if row.place in BASES:
                self._mounted[row.place] = row  # of several, the last is visible

    def _is_tmpfs(self, base):
        own = self._mounted.get(base)
        return own.kind == "tmpfs" if own else base == "/run/lock" and self._is_tmpfs("/run")

    def tops(self, use):
        """Those of the `Use` that end with the boot."""
        return {top for top in use.tops if self._is_tmpfs(base_of(top))}

    def mounts(self, use, own_mounts):
        """Yield ((base, options of tmpfs), whether the unit needs it) of each that the next boot would mount too late.

        :param own_mounts: the unit has a mount namespace of its own, which may have them in another way, such as read-only.
        """
        for base in ("/run/lock", "/tmp"):
            is_seen = own_mounts or any(base_of(top) == base for top in self.tops(use))
            if base not in self._mounted or not self._is_tmpfs(base) or not is_seen:
                continue
            row = self._mounted[base]
            options = [
                word for word in row.of_system.split(",") if word.partition("=")[0] in ("size", "nr_inodes", "mode")
            ]
            words = ["noexec"] if "noexec" in row.options.split(",") else []
            yield (base, ",".join(words + options)), any(base_of(path) == base for path in use.needed)
