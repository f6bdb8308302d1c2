# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Live patches of the running kernel: Documentation/ABI/testing/sysfs-kernel-livepatch."""

from __future__ import annotations

import os

from .._errors import printable
from .._files import read_text

_PATCHES = "/sys/kernel/livepatch"
_MOST = 50


def patches():
    """List of dicts with ``name``, ``enabled``, and ``transition``: whether processes are still on their way from or to the patched code."""
    names = sorted(os.listdir(_PATCHES))[:_MOST] if os.path.isdir(_PATCHES) else []
    return [
        {"name": printable(name), "enabled": _flag(name, "enabled"), "transition": _flag(name, "transition")}
        for name in names
    ]


def _flag(name, attribute):
    return read_text(f"{_PATCHES}/{name}/{attribute}", "0").strip() == "1"
