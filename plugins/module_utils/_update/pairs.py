# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Unix connections between two units that travel together (files/ends, files/fingerprint).

CRIU dumps each unit by itself, and its plug-in notes the ends of connections that lead out of the tree. When nobody runs any more, the
fingerprint program takes both ends as they are, with what waits in their queues. The next boot makes them anew before it restores the
units (files/node/lib/pairs.sh).
"""

from __future__ import annotations

import os
import shutil

from .._criu import carried
from .._errors import KupError, PassingError, printable
from .._files import make_directory, read_lines
from .._paths import RUNTIME
from .._run import run
from .._system import unix_sockets

_PROGRAM = f"{RUNTIME}/fingerprint"
_PATIENCE = 60  # seconds; queues are small


def noted(checkpoint):
    """Inodes of the ends that CRIU's plug-in has let through in the dump of this checkpoint, without streams to the journal: a list."""
    journal = set(checkpoint.findings.journal.values())
    listed = [int(line) for line in read_lines(f"{checkpoint.directory}/pairs") if line.isdigit()]
    return [inode for inode in listed if inode not in journal]


def take(checkpoints, trees, directory):
    """Take the connections between the units of complete, frozen ``checkpoints`` into ``directory``/pairs; nothing where there is none.

    :param trees: dict unit → its processes.
    :raises PassingError: one cannot be taken, or leads to a process that is not carried.
    """
    together = [each for each in checkpoints if each.findings.ends]
    if not together:
        return
    place = f"{directory}/pairs"
    make_directory(place)
    found = _taken(place, "".join(_rows(each, trees[each.unit.name]) for each in together))
    if found:
        with open(f"{place}/units", "w", encoding="ascii", opener=_opener) as stream:
            stream.writelines(f"{unit}\n" for unit in sorted(found))
    else:
        shutil.rmtree(place)


def _opener(path, flags):
    return os.open(path, flags, 0o600)


def _rows(checkpoint, tree):
    rows = [f"unit {checkpoint.unit.name}", *(f"socket {inode}" for inode in noted(checkpoint))]
    return "".join(f"{row}\n" for row in (*rows, *(f"process {process.pid}" for process in tree)))


def _taken(place, rows):
    """Names of the units that the program has taken ends of: a set."""
    done = run([_PROGRAM, "take-pairs", place], stdin=rows, check=False, timeout=_PATIENCE)
    if done.returncode:
        said = printable(done.stderr.strip()) or f"exit code {done.returncode}"
        raise PassingError(f"The unix connections between the units cannot be taken: {said}")
    return {line.split()[0] for line in done.stdout.splitlines() if line}


def refuse_strangers(checkpoint, beside):
    """Look where the ends lead that CRIU's plug-in has let through, in a dump of one unit alone.

    :param beside: `Unit`s that would travel with it.
    :raises KupError: one leads to a process that would not be carried.
    """
    inodes = noted(checkpoint)
    if not inodes:
        return
    table, links = unix_sockets.table(), carried.links(beside)
    for inode in inodes:
        peer = table[inode].peer if inode in table else 0
        if peer and f"socket:[{peer}]" not in links:
            where = table[peer].path if peer in table and table[peer].path else "a process"
            raise KupError(
                f"{checkpoint.unit.name} has a unix connection to {printable(where)}, which is not carried; "
                "add the unit of its other end to kup_units, or end it for the update (a hook before the checkpoint can do it)."
            )
