# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""System V shared memory that a unit has attached: what can be seen of it, and the way by which CRIU takes it along.

CRIU dumps such memory as a part of the tree's IPC namespace only, and a namespace only where it has another one itself. So the CRIU of a
dump is started in a new IPC namespace (`DUMP_INSIDE`), and takes the node's, with all that is in it, for the unit's own. Of its images only
the unit's segments are kept (`_environment.ipc`). The CRIU of a restore is told to restore into the node's namespace (`JOIN`): it makes the
segments there, with their numbers and contents, and attaches them. Nothing changes in the running application.
"""

from __future__ import annotations

import collections
import os
from dataclasses import dataclass

from .._files import each_line
from .._system import mountinfo, processes, sysv

#: The first words of a dump's command line.
DUMP_INSIDE = ["/usr/bin/unshare", "--ipc", "--"]
#: Words of a restore's command line. CRIU opens it in its child, which is in a new namespace: the first process is not.
JOIN = ["--join-ns", "ipc:/proc/1/ns/ipc"]

#: Bytes of all other segments of the node, which CRIU writes in the freeze, too.
OTHERS_MAX = 64 << 20
#: Bytes of a unit's queues and unattached segments, which are copied in the freeze.
COPIED_MAX = 16 << 20


@dataclass(frozen=True)
class Segment:
    """An attached segment: its ``number``; ``process``: that has it attached, as text.

    ``whole``: from its begin to its end; ``executable``; ``huge``: of huge pages; ``foreign``: in an IPC namespace of the unit's own;
    ``holder``: another process that has it attached, as text; ``creator``: user and group id, if neither the owner's nor root's; ``twin``:
    what else of the unit's memory has the same number; ``sealed``: CRIU cannot write below /proc/sys; ``others``: bytes of all other segments.
    """

    number: int
    process: str
    whole: bool = True
    executable: bool = False
    huge: bool = False
    foreign: bool = False
    holder: str = ""
    creator: tuple = ()
    twin: str = ""
    sealed: bool = False
    others: int = 0


def attached(unit):
    """Numbers of the segments that processes of a unit have attached: a set."""
    return frozenset(part.number for one in processes.in_cgroup(unit.cgroup) for part in sysv.attachments(one.path))


def look(unit, host):
    """A `Segment` for each segment of an active `Unit`.

    :param host: the node's IPC namespace.
    """
    parts = [(one, sysv.attachments(one.path)) for one in unit.processes]
    if not any(several for _one, several in parts):
        return []
    node = _Node(unit, host, parts)
    found = {}
    for one, several in parts:
        for number in {part.number for part in several}:
            seen = node.judge(number, one, several)
            # The first of several processes whose attachment is the worse one is named.
            if number not in found or _is_plain(found[number]):
                found[number] = seen
    return [found[number] for number in sorted(found)]


def _is_plain(segment):
    return segment.whole and not segment.executable


class _Node:
    """What is the same for all processes of a unit."""

    def __init__(self, unit, host, parts):
        self._unit, self._parts = unit, parts
        self._known = {each.number: each for each in sysv.segments()}
        self._sizes = {number: each.size for number, each in self._known.items()}
        counted = collections.Counter(part.number for _one, several in parts for part in several)
        # CRIU restores in the unit's own view, where ProtectKernelTunables= mounts it read-only.
        self._sealed = unit.own_mounts and any(row.place == "/proc/sys" for row in mountinfo.of(unit.main.path))
        self._foreign = unit.main.namespace("ipc") != host
        self._others = sum(each.resident for number, each in self._known.items() if number not in counted)
        # The images of all the node's segments lie beside those of other shared memory, each under its number.
        self._twin = same_numbers(unit.processes, set(self._known))
        self._holders = {number: self._holder(number, count) for number, count in counted.items()}

    def judge(self, number, one, several):
        """The `Segment` with this number, as process ``one`` has it among its attachments."""
        parts = [part for part in several if part.number == number]
        return Segment(
            number,
            f"{one.name}[{one.pid}]",
            whole=sysv.are_whole(several, self._sizes),
            executable=any("x" in part.rights for part in parts),
            huge=any(part.device != sysv.device() for part in parts),
            foreign=self._foreign,
            holder=self._holders[number],
            creator=self._creator(number),
            twin=self._twin,
            sealed=self._sealed,
            others=self._others,
        )

    def _holder(self, number, count):
        """A process outside of the unit that has the segment attached, which the unit has ``count`` times."""
        if number not in self._known or self._known[number].attached <= count:
            return ""
        inside = {one.pid for one in processes.in_cgroup(self._unit.cgroup)}
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) in inside:
                continue
            if any(part.number == number for part in sysv.attachments(f"/proc/{entry}")):
                return f"{processes.Process(int(entry)).name}[{entry}]"
        return ""

    def _creator(self, number):
        """User and group id of the creator, where CRIU's own, which becomes the creator, has not the same rights."""
        if number not in self._known:
            return ()
        owner, group, creator, creator_group = self._known[number].rights
        return () if creator in (0, owner) and creator_group in (0, group) else (creator, creator_group)


def same_numbers(several, numbers):
    """Other shared memory of these processes whose inode is one of the segments' ``numbers``: its name, or empty."""
    for one in several:
        for inode, name in _shared(one):
            if inode in numbers:
                return name
    return ""


def _shared(one):
    """(inode, name) of a process's shared memory that is no segment: mapped, and of open memfds."""
    for row in _rows(one):
        if row[3] == sysv.device() and not row[5].startswith("/SYSV"):
            yield int(row[4]), row[5]
    for number, target in one.descriptors():
        if target.startswith("/memfd:"):
            try:
                inode = os.stat(f"{one.path}/fd/{number}").st_ino
            except OSError:  # closed since it was listed
                continue
            yield inode, target


def _rows(one):
    rows = (row.split(maxsplit=5) for row in each_line(f"{one.path}/maps"))
    return (row for row in rows if len(row) > 5)
