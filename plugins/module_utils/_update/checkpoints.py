# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The checkpoints of all units of an update, which belong together: all trees are frozen at once."""

from __future__ import annotations

import shutil
import time

from .._criu import support
from .._engines import registry
from .._errors import KupError
from .._files import make_directory
from .._system import sockets as inet_sockets
from .._system.units import Unit
from . import network_lock

#: Seconds for one dump, or for memory to come; a terabyte on a slow disk has no business here.
PATIENCE = 600
_ACCEPTING = 0.5  # seconds; an application that serves accepts at once


def prepare(record, engine, number):
    """The checkpoint with this ``number`` of each unit of the record, by ``engine``; all units are fit to be moved.

    :raises KupError: one is not.
    """
    root = f"{record['IMAGES']}/{record['ID']}"
    make_directory(root)
    kind = registry.ENGINES[engine].Checkpoint
    parts = [kind(unit, f"{root}/{number}-{unit.name}", record) for unit in map(Unit, record.units)]
    examine(parts)
    for part in parts:
        shutil.rmtree(part.directory, ignore_errors=True)  # of an attempt that was given up
    return parts


def begin(parts):
    """Copy once more, and begin all dumps, up to the freeze. The applications serve on.

    :raises KupError: one cannot be dumped. The caller lets go, then as well.
    """
    for part in parts:
        part.approach_again()
    for part in parts:
        part.begin()
    deadline = time.monotonic() + PATIENCE
    for part in parts:
        part.ready(deadline)
    for part in parts:
        part.last_look()


def freeze(parts):
    """Hold packets and dump all units at once; returns with all trees frozen and all images complete. Errors as of `begin`."""
    network_lock.apply(network_lock.ruleset([socket for part in parts for socket in part.findings.sockets]))
    _accept_the_last(parts)
    for part in parts:
        part.freeze()
    deadline = time.monotonic() + PATIENCE
    for part in parts:
        part.wait(deadline)


def _accept_the_last(parts):
    """Give the applications time to accept what connected just before the hold: CRIU refuses a listener with a queue."""
    give_up = time.monotonic() + _ACCEPTING
    while time.monotonic() < give_up:
        sockets = [s for part in parts for p in part.unit.processes for s in inet_sockets.of_process(p)]
        if not any(s.waiting for s in sockets if s.listening and s.protocol.startswith("tcp")):
            return
        time.sleep(0.005)  # the application may need this very processor


def examine(parts):
    """Look at each unit as it is now.

    :raises KupError: one cannot be moved.
    """
    for part in parts:
        unit = part.unit = Unit(part.unit.name)
        if not unit.active:
            raise KupError(f"{unit.name} is {unit.properties['ActiveState']}, expected active with a main process.")
        part.findings = support.examine(unit)
        if part.findings.problems:
            raise KupError(part.findings.problems[0].sentence())


def frozen(parts):
    """(all internet and unix sockets, ids of all threads) of the frozen trees."""
    processes = [process for part in parts for process in Unit(part.unit.name).processes]
    sockets = [socket for process in processes for socket in inet_sockets.of_process(process)]
    return sockets, [thread for process in processes for thread in process.threads]
