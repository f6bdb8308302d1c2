# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The mounts that a process sees: /proc/PID/mountinfo, see proc_pid_mountinfo(5)."""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass

from .._files import read_lines


@dataclass(frozen=True)
class Row:
    """A line of it.

    ``device``: MAJOR:MINOR, decimal; ``root``: the path within the file system that is mounted at ``place``; ``kind``: of the file
    system, e.g. ``ext4``; ``options``: of the mount, ``of_system``: of the file system, both with commas between.
    """

    number: str
    device: str
    root: str
    place: str
    options: str
    kind: str
    source: str
    of_system: str


def of(process):
    """Each `Row` of what a process sees, those above others after them; ``process`` is its directory in /proc."""
    found = []
    try:
        rows = read_lines(f"{process}/mountinfo")
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        rows = []  # it has ended, and nobody has waited for it
    # The kernel escapes blanks and newlines of names, and no other white space. Before the dash are six words or more.
    for row in rows:
        before, _dash, after = row.partition(" - ")
        words, last = before.split(" "), after.split(" ")
        if len(words) > 5 and len(last) > 2:
            names = {"root": _plain(words[3]), "place": _plain(words[4]), "source": _plain(last[1])}
            found.append(
                Row(number=words[0], device=words[2], options=words[5], kind=last[0], of_system=last[2], **names)
            )
    return found


def _plain(text):
    """A name as the kernel has it; it prints blanks and backslashes as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), text)
