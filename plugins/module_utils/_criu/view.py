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

from .._files import read_lines

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
# systemd.exec(5), DynamicUser=: a user that is not the unit's own cannot pass these directories by their path.
_DYNAMIC = re.compile(r"(/var/(lib|cache|log)|/run)/private/")


@dataclass(frozen=True)
class View:
    """What was seen of a unit's mount namespace.

    ``owned``: by the first user namespace; ``root``: of the main process, "/" is the namespace's own; ``foreign``: paths that lead
    to something else than on the node; ``dynamic``: mounted directories of a dynamic user.
    """

    owned: bool
    root: str
    foreign: tuple = ()
    dynamic: tuple = ()


def look(main):
    """`View` of the process ``main``, which has a mount namespace of its own.

    :raises OSError: it has ended.
    """
    with os.fdopen(os.open(f"{main.path}/ns/mnt", os.O_RDONLY), "rb") as namespace:
        owned = is_owned(namespace.fileno())
    # proc_pid_mountinfo(5): ten words at least. The kernel escapes blanks and newlines of names, and no other white space.
    rows = (row.split(" ") for row in read_lines(f"{main.path}/mountinfo"))
    mounts = [row for row in rows if len(row) > 9]
    read = [*_READ, *sorted({row[4] for row in mounts if _LIBRARIES.match(row[4])})]
    foreign = [path for path in read if not _same(f"{main.path}/root{path}", path)]
    if not _is_proc(main, mounts):
        foreign.append("/proc")
    dynamic = [row[4] for row in mounts if _DYNAMIC.match(row[4])]
    return View(owned, os.readlink(f"{main.path}/root"), tuple(foreign), tuple(dynamic))


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
    there = [row for row in mounts if row[4] == "/proc"]
    if not there or there[-1][there[-1].index("-") + 1] != "proc":
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
