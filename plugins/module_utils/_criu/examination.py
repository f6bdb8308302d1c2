# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Can CRIU carry this unit, and if not, what exactly stands in the way?

`examine` looks at every process, descriptor and mapping of a running unit. What CRIU must be told of (a descriptor whose
other end is outside of the tree) is in its findings, and so is every blocker.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .._blocker import about, all_of, first_of
from .._system import mountinfo, private_places, sysv
from . import carried as travelling
from . import connection_lock, forgotten, ipc_checks, seen, segments, sessions, view
from .checks import MAPPING_CHECKS, PROCESS_CHECKS, foreign_session, many_connections, scope_child
from .descriptor_checks import DESCRIPTOR_CHECKS
from .view_checks import VIEW_CHECKS

_ALONE = travelling.Carried()
#: Codes of what the restore does not fail from: it is lost. On the way back nothing that the applications have must be lost for it.
LOSSES = ("loopback-peer", "sysv-semaphores")


@dataclass
class Findings:
    """What `examine` found.

    ``blockers``; ``journal``: descriptor number → inode of a stream to the journal; ``external_files``: CRIU's name of the file
    (``file[mnt:inode]``) → path to open at restore; ``datagrams``: whether a socket sends datagrams to systemd, which is outside of
    the tree; ``sockets``: internet sockets; ``session``: its id where the main process does not lead it, else 0; ``segments``: whether
    System V shared memory is attached; ``lock``: CRIU's own lock of connections (`connection_lock.method`); ``ends``: whether a unix
    connection may lead to another unit that travels along; ``forgets``: names of the attributes that this CRIU does not put back
    (`forgotten.by`).
    """

    blockers: list = field(default_factory=list)
    journal: dict = field(default_factory=dict)
    external_files: dict = field(default_factory=dict)
    datagrams: bool = False
    session: int = 0
    sockets: list = field(default_factory=list)
    segments: bool = False
    lock: str = connection_lock.OWN
    ends: bool = False
    forgets: frozenset = frozenset()


def examine(unit, carried=_ALONE, criu=""):
    """Examine an active `Unit`; returns `Findings`.

    :param carried: `carried.Carried`, all units that travel together.
    :param criu: `seen.version`.
    """
    findings = Findings(ends=carried.several)
    places = private_places.of(unit) if unit.own_mounts else None
    if places is not None:
        findings.blockers += about(first_of(VIEW_CHECKS, view.look(unit)), unit=unit.name)
    # Of the main process, because one that has changed its root directory sees the mounts below that only.
    mounts = view.Mounts(mountinfo.of(unit.main.path), places) if places is not None else None
    around, descriptors = seen.around(unit, criu), seen.Descriptors(unit, carried)
    session = sessions.of(unit.main)
    findings.session = session.number if session else 0
    attached = segments.look(unit, around.namespaces["ipc"])
    findings.segments = bool(attached)
    findings.blockers += about(_of_unit(unit, around, session) + _of_ipc(unit, around, attached), unit=unit.name)
    for process in unit.processes:
        blockers = _examine(process, mounts, around, descriptors, findings)
        if process.exists:  # whatever seemed odd about one that ends meanwhile
            findings.blockers += about(blockers, unit=unit.name, process=f"{process.name}[{process.pid}]")
    findings.lock = connection_lock.method(criu, unit.cgroup)
    findings.forgets = forgotten.by(criu)
    crowd = seen.crowd(unit, findings.sockets)
    findings.blockers += about(many_connections(crowd, findings.lock), unit=unit.name)
    return findings


def _of_unit(unit, around, session):
    """Blockers of what belongs to the unit, and to none of its processes alone."""
    found = list(foreign_session(session)) if session else []
    return found + [each for outsider in seen.outsiders(unit) for each in scope_child(outsider, around)]


def _of_ipc(unit, around, attached):
    """Blockers of System V objects of the unit, of which these `segments.Segment`s are ``attached``."""
    found = [each for segment in attached for each in ipc_checks.sysv_memory(segment)]
    if attached:
        what = "all other System V shared memory segments of the node"
        found += ipc_checks.sysv_size(what, attached[0].others, segments.OTHERS_MAX)
    things = seen.ipc_objects(unit, around.namespaces["ipc"])
    size = sum(thing.size for thing in things if thing.kind != "sem")
    found += ipc_checks.sysv_size("its System V queues and unattached segments", size, segments.COPIED_MAX)
    semaphores = [thing for thing in things if thing.kind == "sem"]
    if semaphores:
        undoers = sysv.undoers([each.pid for each in unit.processes])
        found += ipc_checks.sysv_semaphores(semaphores[0].number, undoers[0] if undoers else 0)
    return found


def _examine(process, mounts, around, descriptors, findings):
    """Blockers of one process; the rest goes to ``findings``. ``mounts``: `view.Mounts`, None for a unit without mounts of its own."""
    blockers = all_of(PROCESS_CHECKS, seen.process(process, mounts, around), around)
    for mapping in seen.mappings(process, mounts):
        blockers += first_of(MAPPING_CHECKS, mapping, around)
    sockets = descriptors.tables.of(process)
    findings.sockets += sockets
    for descriptor in descriptors.of(process, sockets, mounts):
        blockers += first_of(DESCRIPTOR_CHECKS, descriptor, around)
        if descriptor.peer == seen.JOURNAL:
            findings.journal.setdefault(descriptor.number, descriptor.inode)
        findings.datagrams = findings.datagrams or descriptor.stateless
        if descriptor.external:
            findings.external_files[descriptor.external] = descriptor.target
    return blockers
