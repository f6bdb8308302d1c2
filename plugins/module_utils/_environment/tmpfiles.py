# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""systemd-tmpfiles comes later in the boot, and removes, empties or alters what its configuration names: not what travels.

Of several lines for one path the first counts, in the order of the files' names, unless they say the same (tmpfiles.d(5); src/tmpfiles/
tmpfiles.c, item_compatible()). So a file whose name comes first has a line for each that would do harm. Tried with systemd 252 and 257. Lines that
only adjust rights (z, Z) do so in any case.
"""

from __future__ import annotations

import fnmatch
import os
import stat

from .._run import run
from . import plan

#: "!" sorts before all that is a usual first character.
KEPT = "/run/tmpfiles.d/!kup.conf"

_DIRECTORIES = "dDvqQ"
_FILES = "fF"
_WRITES = "w"
_REMOVES = "rR"


def configuration():
    """All lines of the node's tmpfiles.d, in order."""
    return run(["systemd-tmpfiles", "--cat-config"], check=False).stdout.splitlines()


def overrides(lines, objects):
    """Lines that come before those of ``lines`` which would harm ``objects`` (dict path → status)."""
    found = {}
    for fields in (line.split(None, 6) for line in lines):
        if len(fields) < 2 or fields[0][0] not in _DIRECTORIES + _FILES + _WRITES + _REMOVES:
            continue
        path = fields[1].rstrip("/")
        # Quoted, with specifiers, or with blanks: none that a stock file has.
        if not path.startswith("/") or any(char in path for char in "%\"'\\"):
            continue
        line = _override(fields, path, objects)
        if line:
            found.setdefault(path, line)
    return list(found.values())


def _override(fields, path, objects):
    kind = fields[0][0]
    if kind in _REMOVES or kind in _WRITES:
        harmed = any(_removed(each, path, kind) for each in objects)
        # It differs from the line by its mode, which means nothing to both.
        return f"x {fields[1]} 0700" if harmed else ""
    status = objects.get(path)
    if status is None and kind == "D" and any(each.startswith(f"{path}/") for each in objects):
        status = os.stat(path)  # /tmp itself
    return _adjusted(fields, status) if status else ""


def _adjusted(fields, status):
    """A line that gives a directory or file the rights that it has, empties nothing and truncates nothing."""
    # It differs from the line at least by its mode, of which "~" only takes away what the object has not.
    tilde = "" if len(fields) > 2 and fields[2].startswith("~") else "~"
    directory = fields[0][0] in _DIRECTORIES
    age = fields[5] if len(fields) > 5 and directory else "-"
    rights = f"{tilde}{stat.S_IMODE(status.st_mode):04o} {status.st_uid} {status.st_gid}"
    return f"{'d' if directory else 'f'} {fields[1]} {rights} {age}"


def _matches(path, pattern):
    """As glob(3) does: a star stands for no slash."""
    parts, patterns = path.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatch.fnmatchcase, parts, patterns))


def _removed(path, pattern, kind):
    """Whether a line of this kind removes ``path``, or writes to it."""
    depth = pattern.count("/") + 1
    if kind == "R":
        path = "/".join(path.split("/")[:depth])
    return _matches(path, pattern)


def steps(lines, objects, plans):
    """Steps that put the file in place, if there is anything to say in it."""
    found = overrides(lines, objects)
    if not found:
        return []
    text = (
        "# Of the kernel update by kup.fleet: what applications brought along from the boot before.\n"
        + "\n".join(found)
        + "\n"
    )
    return plan.text_steps(plans, KEPT, text)
