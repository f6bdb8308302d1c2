# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Directories that only one unit sees, and that systemd makes empty whenever it starts the unit: PrivateTmp=, TemporaryFileSystem=.

Their files go with the unit into the next boot. A directory on a disk stays where it is, and the restored unit sees it again. What is in
memory is copied.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass

from . import mountinfo

#: Where a unit has private directories by PrivateTmp=, and what is in the path of each that systemd or a boot plan has made.
TEMPORARY = ("/tmp", "/var/tmp")
PRIVATE = "/systemd-private-"
#: File systems whose files end with the kernel.
VOLATILE = ("tmpfs", "ramfs", "devtmpfs", "hugetlbfs")

# A path that needs no quotes in a unit file.
_PLAIN = re.compile(r"[\w@./-]+", re.ASCII)


@dataclass(frozen=True)
class Place:
    """A private directory: the unit sees it at ``point``.

    ``directory``: the node's path of it, on a disk; empty: its files have to be copied. ``is_bound``: it has to be mounted for the
    restored unit; systemd makes the others (TemporaryFileSystem=) in any case.
    """

    point: str
    directory: str = ""
    is_bound: bool = True


def of(unit):
    """Each `Place` of an active `Unit`; none where it sees what the node sees."""
    if not unit.own_mounts:
        return []
    node = mountinfo.of("/proc/1")
    upper = {row.place: row for row in mountinfo.of(unit.main.path)}
    found = [_place(unit, row, node) for row in upper.values()]
    return sorted(filter(None, found), key=lambda place: place.point)


def below(places, path):
    """The `Place` of ``places`` (a list) that this absolute path, as the unit sees it, is in; or None."""
    above = [place for place in places if path == place.point or path.startswith(f"{place.point}/")]
    return max(above, key=lambda place: len(place.point), default=None)


def _place(unit, row, node):
    if row.place in TEMPORARY and PRIVATE in row.root:
        return Place(row.place, "" if row.kind in VOLATILE else _on_node(unit, row, node))
    own = row.kind == "tmpfs" and row.device not in {each.device for each in node}
    if own and "ro" not in row.options.split(",") and row.place in _made_by_systemd(unit):
        return Place(row.place, is_bound=False)
    return None


def _made_by_systemd(unit):
    """Mount points of file systems in memory that the unit's settings ask for."""
    words = unit.properties["TemporaryFileSystem"].split()
    points = {word.partition(":")[0].rstrip("/") for word in words}
    return points | set(TEMPORARY if unit.properties["PrivateTmpEx"] == "disconnected" else ())


def _on_node(unit, row, node):
    """Where the node has the directory that the unit sees by this `mountinfo.Row`; empty where that cannot be told."""
    there = os.stat(f"{unit.main.path}/root{row.place}")
    for each in node:
        rest = row.root[len(each.root.rstrip("/")) :]
        path = each.place.rstrip("/") + rest
        if each.device != row.device or row.root != each.root.rstrip("/") + rest or not _PLAIN.fullmatch(path):
            continue
        if _is_roots_alone(os.path.dirname(path)) and os.path.samestat(os.lstat(path), there):
            return path
    return ""


def _is_roots_alone(path):
    """Whether nobody but root can reach what is in this directory, or put another one in its place."""
    try:
        here, above = os.lstat(path), os.stat(os.path.dirname(path))
    except OSError:
        return False
    is_closed = stat.S_ISDIR(here.st_mode) and here.st_uid == 0 and not here.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    is_kept = above.st_uid == 0 and (above.st_mode & stat.S_ISVTX or not above.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    return bool(is_closed and is_kept)
