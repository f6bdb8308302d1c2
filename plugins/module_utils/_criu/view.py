# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A unit's own view of the file system (its mount namespace), as it is seen from outside; `view_checks` judge it.

CRIU works in that namespace. So it must belong to the node's administrator, and what CRIU reads there by its path must be the node's own.
"""

from __future__ import annotations

import fcntl
import os
import re
from dataclasses import dataclass

from .._system import mountinfo, private_places, root_paths

_NS_GET_USERNS = 0xB701  # linux/nsfs.h

# Where its libraries are: a name that the node's directory of them lacks would be looked for there.
_LIBRARIES = re.compile(r"(/usr)?/lib((64|/[a-z0-9_]+-linux-gnu)(/[^/]+)?)?$")
# What CRIU, the libraries it is linked with and the dynamic loader read by a fixed path. A bind mount in one of their places could
# have CRIU load a library (ld.so.preload), believe in another kernel (criu.kdat), or mistake a name (iproute2: libnftables).
_READ = (
    "/etc",
    "/etc/ld.so.preload",
    "/etc/gnutls",
    "/etc/iproute2",
    "/etc/nsswitch.conf",
    "/etc/pkcs11",
    "/run",
    "/run/criu.kdat",
    "/usr/share/iproute2",
)
# The settings for which systemd makes a mount namespace: exec_needs_mount_namespace() in its src/core/. DynamicUser= does it with a directory.
_MAKES_MOUNTS = re.compile(
    r"^\s*(Bind(ReadOnly)?Paths|DynamicUser|(No)?ExecPaths|Extension(Images|Directories)|Inaccessible(Paths|Directories)|LogNamespace|"
    r"MountFlags|MountImages|Private(BPF|Devices|IPC|Mounts|Network|PIDs|Tmp|Users)|(IPC|Network)NamespacePath|ProcSubset|"
    r"Protect(ControlGroups|Home|Kernel(Logs|Modules|Tunables)|Proc|System)|Read(Only|Write)(Paths|Directories)|"
    r"Root(Directory|Image|MStack)|TemporaryFileSystem)[ \t]*=[ \t]*(?!(?i:no|n|false|f|off|0)?[ \t]*$)",
    re.MULTILINE,
)
# Of these, what systemd needs to make the same mounts again does not come with the boot, or not early enough.
_IMAGES = re.compile(
    r"^[ \t]*(RootImage|RootDirectory|MountImages|ExtensionImages|ExtensionDirectories|JoinsNamespaceOf)[ \t]*=[ \t]*\S",
    re.MULTILINE,
)
# A word of BindPaths= and BindReadOnlyPaths= as systemctl shows them: the source, and where it is mounted.
_BIND = re.compile(r"-?(/[^:]*):(/[^:]*)(:rbind)?")


@dataclass(frozen=True)
class View:
    """What was seen of a unit's mount namespace.

    ``owned``: by the first user namespace; ``root``: of the main process, "/" is the namespace's own; ``foreign``: paths that lead to
    something else than on the node; ``by_systemd``: the unit has a setting that makes mounts; ``images``: settings whose mounts
    cannot be made again; ``uptime``: /proc has more than processes; ``sealed``: an IPC namespace of its own, whose settings CRIU
    could not write; ``movable``: mount points that others than root can have lead elsewhere, with content of theirs.
    """

    owned: bool
    root: str
    foreign: tuple = ()
    by_systemd: bool = True
    images: tuple = ()
    uptime: bool = True
    sealed: bool = False
    movable: tuple = ()


@dataclass(frozen=True)
class Mounts:
    """What the main process of a unit with mounts of its own sees: ``rows`` (`mountinfo.Row`), and the unit's private ``places``."""

    rows: list
    places: list

    def lasting(self, path):
        """Whether the next boot has what is at this absolute path, once systemd has made the unit's mounts again."""
        row = self._over(path)
        if row is None or self.private(path):
            return row is not None
        return row.kind not in private_places.VOLATILE and private_places.PRIVATE not in row.root

    def private(self, path):
        """Whether this absolute path is in a private place, whose files go along, and not in another mount below that."""
        row = self._over(path)
        return row is not None and row.place in {place.point for place in self.places}

    def _over(self, path):
        over = [row for row in self.rows if f"{path}/".startswith(f"{row.place.rstrip('/')}/")]
        return max(over, key=lambda row: len(row.place), default=None)


def look(unit):
    """`View` of an active `Unit`, which has a mount namespace of its own.

    :raises OSError: its main process has ended.
    """
    main, definition = unit.main, unit.definition()
    with os.fdopen(os.open(f"{main.path}/ns/mnt", os.O_RDONLY), "rb") as namespace:
        owned = is_owned(namespace.fileno())
    mounts = mountinfo.of(main.path)
    points = {row.place for row in mounts}
    read = [*_READ, *sorted(filter(_LIBRARIES.match, points))]
    foreign = [path for path in read if not _same(f"{main.path}/root{path}", path)]
    if not _is_proc(main, mounts):
        foreign.append("/proc")
    return View(
        owned=owned,
        root=os.readlink(f"{main.path}/root"),
        foreign=tuple(foreign),
        by_systemd=bool(_MAKES_MOUNTS.search(definition)),
        images=tuple(sorted(set(_IMAGES.findall(definition)))),
        uptime=os.path.exists(f"{main.path}/root/proc/uptime"),
        sealed=not _same(f"{main.path}/ns/ipc", "/proc/self/ns/ipc") and "/proc/sys" in points,
        movable=tuple(_movable(unit)),
    )


def _movable(unit):
    """Yield what systemd might mount elsewhere in the next boot, such as over /proc, because it follows links.

    An application could put such a link there, and then root would execute what it has put into the mounted directory.
    """
    words = " ".join(unit.properties[name] for name in ("BindPaths", "BindReadOnlyPaths")).split()
    binds = [bind.group(1, 2) for bind in map(_BIND.fullmatch, words) if bind]
    yield from (word for word in words if not _BIND.fullmatch(word))  # with a blank or a colon in it
    for source, point in binds:
        # A directory that is mounted above it has the rest of the way.
        ways = [point, *(above + point[len(place) :] for above, place in binds if point.startswith(f"{place}/"))]
        if source != point and not all(map(root_paths.is_roots_way, ways)) and not root_paths.is_roots_own(source):
            yield point


def is_owned(namespace):
    """Whether the namespace of this descriptor belongs to the caller's user namespace, the first one.

    In any other an application may have mounted what it likes: it needs no privilege to make one.
    """
    try:
        owner = fcntl.ioctl(namespace, _NS_GET_USERNS)
    except PermissionError:  # it is not below the caller's own
        return False
    try:
        return os.path.samestat(os.fstat(owner), os.stat("/proc/self/ns/user"))
    finally:
        os.close(owner)


def _is_proc(main, mounts):
    """Whether /proc in the view is a procfs (the uppermost mount counts) of the caller's pid namespace."""
    there = [row.kind for row in mounts if row.place == "/proc"]
    if there[-1:] != ["proc"]:
        return False
    namespace = f"/proc/{main.pid}/ns/mnt"
    return _same(f"{main.path}/root{namespace}", namespace)


def _same(one, other):
    """Whether both paths lead to the same file, or both to none."""
    found = []
    for path in (one, other):
        try:
            found.append(os.stat(path))
        except (FileNotFoundError, NotADirectoryError):
            found.append(None)
    return os.path.samestat(*found) if all(found) else found[0] is found[1]
