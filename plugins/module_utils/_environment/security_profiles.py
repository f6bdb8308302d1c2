# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The AppArmor profiles that confine a unit's processes, as the kernel has loaded them.

CRIU gives each thread its profile back, which must be loaded by then. The kernel hands out what it was given (``raw_data``), and takes
it again: one write, where apparmor.service compiles and loads the profiles of the whole node. It does so later in the boot, and
replaces this profile by the same.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from .._files import read_text

_APPARMOR = "/sys/kernel/security/apparmor"


@dataclass(frozen=True)
class Label:
    """What confines a thread: ``text`` as the kernel prints it, ``apparmor`` or another module, ``loaded``: file with the profile."""

    text: str
    apparmor: bool
    loaded: str

    @property
    def profile(self):
        """Its name without the mode: ``name (enforce)``."""
        return self.text.rpartition(" (")[0] if self.text.endswith(")") else self.text


def of_unit(unit):
    """Each `Label` of the threads of a `Unit`, but for those that nothing confines."""
    apparmor = os.path.isdir(f"{_APPARMOR}/policy")
    threads = [f"{process.path}/task/{thread}" for process in unit.processes for thread in process.threads]
    texts = {_label(thread, apparmor) for thread in threads} - {"", "unconfined"}
    files = _loaded() if texts and apparmor else {}
    labels = [Label(text, apparmor, "") for text in sorted(texts)]
    # Of a child (profile//child), the profile above it has all in one.
    return [Label(each.text, apparmor, files.get(each.profile.partition("//")[0], "")) for each in labels]


def contents(labels):
    """What the kernel was given for the profiles of ``labels``: dict name → bytes."""
    found = {}
    for label in labels:
        with open(label.loaded, "rb") as stream:
            found[label.profile.partition("//")[0]] = stream.read()
    return found


def _label(thread, apparmor):
    for name in ("attr/apparmor/current", "attr/current") if apparmor else ("attr/current",):
        try:
            text = read_text(f"{thread}/{name}", "")
        except OSError:  # no module has labels
            text = ""
        if text:
            return text.strip("\0\n")
    return ""


def _loaded():
    """Of each profile that is loaded, the file that has it as it was loaded: dict name → path."""
    found = {}
    for entry in os.scandir(f"{_APPARMOR}/policy/profiles"):
        path = f"{entry.path}/raw_data"
        if os.path.exists(path):
            found[read_text(f"{entry.path}/name", "")] = path
    return found
