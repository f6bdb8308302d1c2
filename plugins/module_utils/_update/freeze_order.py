# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""In which order units are frozen that connect to each other by unix sockets.

Who connects comes before who listens: a connection that waits for a listener which does not run any more cannot be carried. CRIU would look
at it right after it has stopped the client, so the kernel holds the client until the listener has accepted.
"""

from __future__ import annotations

import time

from .._criu import seen
from .._system import processes, unix_sockets

# Seconds. CRIU gives up a tree that cannot be stopped by itself, and an application that serves accepts at once.
_STOPPING, _ACCEPTING = 5, 0.5
_PAUSE = 0.005


def groups(checkpoints):
    """Lists of checkpoints, to be frozen one list after the other."""
    if len(checkpoints) < 2:
        return [list(checkpoints)]
    table = unix_sockets.table()
    held = [_sockets(each.unit, table) for each in checkpoints]
    ranks = _ranks(held)
    return [[each for each, own in zip(checkpoints, ranks, strict=True) if own == rank] for rank in sorted(set(ranks))]


def hold(held):
    """Keep all but the last of these `groups` from running, until CRIU stops them; who still runs accepts what they have connected."""
    for number, group in enumerate(held[:-1]):
        stop(group)
        listeners = {inode for later in held[number + 1 :] for each in later for inode in _inodes(each.unit)}
        _wait(_ACCEPTING, lambda listeners=listeners: not _waiting(listeners))


def stop(checkpoints):
    """Keep these from running by their control groups."""
    for each in checkpoints:
        each.unit.freeze()
    _wait(_STOPPING, lambda: all(each.unit.frozen for each in checkpoints))


def release(held):
    """`let_go` of what `hold` has stopped."""
    let_go([each for group in held[:-1] for each in group])


def let_go(checkpoints):
    """Let control groups that were stopped run again once CRIU has stopped their processes: it has to run code of its own in them."""
    for each in checkpoints:
        _wait(_STOPPING, lambda unit=each.unit: all(process.stopped for process in _tree(unit)))
        each.unit.thaw()


def _waiting(listeners):
    table = unix_sockets.table()
    return any(table[inode].waiting for inode in listeners if inode in table)


def _wait(seconds, reached):
    give_up = time.monotonic() + seconds
    while not reached() and time.monotonic() < give_up:
        time.sleep(_PAUSE)  # the application may need this very processor


def _ranks(held):
    """The rank of each unit, by the `UnixSocket`s that each holds: a list of numbers."""
    listening = [{one.path for one in sockets if one.listening} for sockets in held]
    owner = {one.inode: number for number, sockets in enumerate(held) for one in sockets}
    # What was accepted has its listener's name.
    before = {
        (owner[one.peer], number)
        for number, sockets in enumerate(held)
        for one in sockets
        if one.path in listening[number] and owner.get(one.peer, number) != number
    }
    # A unit that may be connected to, but is not at this moment, has listeners.
    ranks = [int(bool(paths)) for paths in listening]
    for _number in held:  # as often as the longest chain has units; a circle ends as well
        for client, server in before:
            ranks[server] = max(ranks[server], ranks[client] + 1)
    return ranks


def _sockets(unit, table):
    inodes = _inodes(unit)
    return [one for inode, one in table.items() if inode in inodes and one.type in seen.CONNECTED]


def _inodes(unit):
    targets = (target for process in _tree(unit) for _number, target in process.descriptors())
    return {int(target[8:-1]) for target in targets if target.startswith("socket:[")}


def _tree(unit):
    """The processes of a unit, as they are now."""
    return processes.in_cgroup(unit.cgroup)
