# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Where a directory is going to be that need not exist yet."""

from __future__ import annotations

import os

from ._run import run


def existing(path):
    """``path``, or its nearest parent that exists."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


def kind(path):
    """Type of the file system at ``existing(path)``, e.g. ``ext4``; None where that is not known."""
    said = run(["findmnt", "--noheadings", "--output", "FSTYPE", "--target", existing(path)]).stdout.split()
    return said[-1] if said else None
