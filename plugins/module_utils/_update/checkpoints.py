# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The checkpoints of all units of an update. They belong together: all trees are frozen at once."""

from __future__ import annotations

import shutil
import time

from .. import _again as again
from .._blocker import Blocked
from .._criu import carried as travelling
from .._criu import connection_lock, examination, seen
from .._engines import registry
from .._environment import attributes, fork_wiping, interrupted
from .._errors import KupError, PassingError
from .._files import make_directory
from .._system import sockets as inet_sockets
from .._system import tcp_states
from .._system.units import Unit
from . import disk_requests, freeze_order, network_lock
from . import record as records

#: Seconds for one dump, or for pending memory. An application that needs longer is too large for its disk.
PATIENCE = 600
# Seconds. An application that serves accepts at once. A round trip is enough for a handshake, and for an answer that fits into the client's window.
_ACCEPTING, _ARRIVING, _SENDING = 0.5, 0.5, 0.3


def create(record, engine, number):
    """The checkpoint with this ``number`` of each unit of the record, by the engine of this name. Nothing is dumped yet.

    :raises KupError: a unit cannot be moved.
    """
    root = f"{record['IMAGES']}/{record['ID']}"
    make_directory(root)
    chosen = registry.ENGINES[engine]
    created = [chosen.checkpoint(unit, f"{root}/{number}-{unit.name}", record) for unit in map(Unit, record.units)]
    examine(created)
    for each in created:
        shutil.rmtree(each.directory, ignore_errors=True)  # left by an attempt that was given up
    return created


def examine(checkpoints, beside=()):
    """Examine each unit as it is now.

    :param beside: more units that travel with them.
    :raises KupError: a unit cannot be moved.
    """
    blockers = again.settled(lambda: _look(checkpoints, beside), bool)
    if blockers:
        raise Blocked(blockers[:1])


def _look(checkpoints, beside):
    """Examine each unit once; returns what stands in the way."""
    for each in checkpoints:
        unit = each.unit = Unit(each.unit.name)
        if not unit.active:
            raise KupError(f"{unit.name} is {unit.properties['ActiveState']}, expected active with a main process.")
    carried = travelling.of([*(each.unit for each in checkpoints), *beside])
    criu = seen.version()
    found = []
    for each in checkpoints:
        each.findings = examination.examine(each.unit, carried, criu)
        lost = examination.LOSSES if each.settings["PHASE"] in records.RETURNABLE else ()
        found += [blocker for blocker in each.findings.blockers if blocker.code not in lost]
    return found


def pre_copy(checkpoints):
    """Copy what can be copied while the applications serve.

    :raises KupError: a unit cannot be copied, or cannot be moved any more.
    """
    # All of them, also after one that took time.
    took_time = [each.pre_copy() for each in checkpoints]
    if any(took_time):
        examine(checkpoints)


def start(checkpoints):
    """Start all dumps, up to the freeze. The applications serve on.

    :raises KupError: a unit cannot be dumped. The caller resumes all checkpoints, then as well.
    """
    for each in checkpoints:
        each.attributes = attributes.ask(each.unit.processes)
        attributes.refuse(each.unit, each.attributes)
        each.has_ring = disk_requests.has_ring(each.unit.processes)
        each.wiped = fork_wiping.look(each.unit.processes) if fork_wiping.NAME in each.findings.forgets else None
    for each in checkpoints:
        each.pre_copy_again()
    for each in checkpoints:
        each.start()
    deadline = time.monotonic() + PATIENCE
    for each in checkpoints:
        each.wait_ready(deadline)
    for each in checkpoints:
        each.before_freeze()
        each.calls = interrupted.note(each.unit.processes)


def quiet(checkpoints):
    """Let no new client come in, and give those that are coming in the time to arrive: a handshake is nobody's, and cannot be carried.

    The applications serve on. Whoever comes now tries again after a second, and would have had to wait in any case.
    """
    sockets = _sockets(checkpoints)
    lock = network_lock.newcomers(sockets)
    if lock:
        network_lock.apply(lock)
        _wait(_ARRIVING, lambda: not tcp_states.opening(_ports(sockets)))
        _await_accepted(sockets)


def freeze(checkpoints, patience=PATIENCE, is_last=False, park=None):
    """Apply the network lock, freeze and dump all units at once; returns with complete images. Errors: see `start`.

    :param patience: seconds for the dump.
    :param is_last: the kernel ends after it, and with it what only the kernel has; `quiet` came before.
    :param park: called when all stands still, right before the network lock.
    """
    sockets = _sockets(checkpoints)
    cgroups = [each.unit.cgroup for each in checkpoints if each.findings.lock == connection_lock.NONE]
    groups, lock = freeze_order.groups(checkpoints), network_lock.ruleset(sockets, cgroups)
    if not is_last:
        network_lock.apply(lock)
    _await_accepted(sockets)
    freeze_order.hold(groups)
    stopped = _lock_stopped(groups, sockets, lock, park) if is_last else []
    rings = [each for each in checkpoints if each.has_ring]
    _await_disks(rings)
    for each in checkpoints:
        each.freeze()
    freeze_order.release(groups)
    freeze_order.let_go(stopped or rings)
    deadline = time.monotonic() + patience
    for each in checkpoints:
        each.wait_complete(deadline)


def _sockets(checkpoints):
    return [socket for each in checkpoints for socket in each.findings.sockets]


def _ports(sockets):
    """Local ports of TCP servers and connections."""
    return {each.local[1] for each in sockets if each.protocol.startswith("tcp")}


def _lock_stopped(groups, sockets, lock, park):
    """Apply the network lock to units that stand, behind the last answers of connections that are closed already: nobody has such a connection, so
    it cannot be carried. Units that ran on would close more of them.

    :param groups: of `freeze_order`; all but the last are held.
    :returns: the checkpoints whose units were stopped for it.
    """
    ports, stopped = _ports(sockets), []
    if _listeners(sockets):
        stopped = [each for group in groups for each in group]
        freeze_order.stop(stopped)
        _wait(_SENDING, lambda: not tcp_states.closing(ports))
        if park:
            park()
    network_lock.apply(lock)
    if stopped and inet_sockets.waiting(_listeners(sockets)):
        # A slow client has come in meanwhile, and CRIU refuses a listener with a queue.
        for each in groups[-1]:
            each.unit.thaw()
        stopped = []
        _await_accepted(sockets)
    return stopped


def _await_disks(rings):
    """Keep these checkpoints' units from running, and wait for the disks: see `disk_requests`.

    :raises PassingError: a disk has not answered. A way back does not wait for it any longer.
    """
    freeze_order.stop(rings)
    late = disk_requests.wait([process for each in rings for process in each.unit.processes]) if rings else []
    if late and not any(each.settings["PHASE"] in records.RETURNABLE for each in rings):
        units = ", ".join(each.unit.name for each in rings)
        raise PassingError(
            f"{units}: {', '.join(late)} has not done within {disk_requests.PATIENCE:g} s what it was asked for by libaio, expected a disk that "
            "answers; look at the disk."
        )


def _await_accepted(sockets):
    """Give the applications time to accept the last connections before the network lock: CRIU refuses a listener with a queue."""
    listeners = _listeners(sockets)
    _wait(_ACCEPTING, lambda: not inet_sockets.waiting(listeners))


def _listeners(sockets):
    """Inodes of TCP servers."""
    return {found.inode for found in sockets if found.listening and found.protocol.startswith("tcp")}


def _wait(seconds, reached):
    give_up = time.monotonic() + seconds
    while not reached() and time.monotonic() < give_up:
        time.sleep(0.005)  # the application may need this very processor


def trees(checkpoints):
    """The processes of each unit, as they are now: dict unit → list."""
    return {each.unit.name: Unit(each.unit.name).processes for each in checkpoints}


def frozen(found):
    """(all internet sockets, ids of all threads) of frozen `trees`."""
    processes = [process for several in found.values() for process in several]
    return inet_sockets.of_processes(processes), [thread for process in processes for thread in process.threads]


def statistics(checkpoints):
    """What the report says of each unit's memory: dict unit → dict."""
    return {each.unit.name: each.statistics() for each in checkpoints}
