# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page daemon's program. `make collection` puts it into the tarball; a collection built from the bare sources has none."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError

_TOOLS = ("make", "gcc")


def provide(sources, dry=False):
    """Build the program in ``sources``, the folder files/paged of the collection, unless it is there.

    :param dry: only say whether it would be built.
    :returns: whether it was built.
    :raises KupError: it cannot be built here.
    """
    program = f"{sources}/paged"
    if os.path.exists(program):
        return False
    missing = [tool for tool in _TOOLS if not shutil.which(tool)]
    if missing:
        raise KupError(_sentence(program, f"this controller lacks {' and '.join(missing)} to build it"))
    if not os.access(sources, os.W_OK):
        raise KupError(_sentence(program, f"{sources} cannot be written to build it there"))
    if not dry:
        _build(sources, program)
    return True


def _build(sources, program):
    with tempfile.TemporaryDirectory(dir=sources) as output:
        done = subprocess.run(
            ["make", "-C", sources, f"OUT={output}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["make said nothing"]
            raise KupError(_sentence(program, f"its build failed ({lines[0]})"))
        os.replace(f"{output}/paged", program)


def _sentence(program, reason):
    return (
        f"The collection has no page daemon ({program}), which every engine but criu needs, and {reason}; "
        "install a tarball that 'make collection' has made, or set kup_engine to criu."
    )
