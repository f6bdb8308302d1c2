# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""systemd units as they are now."""

from __future__ import annotations

import contextlib
import os
import re

from .._errors import KupError
from .._run import run
from . import processes

#: What of the processor and of disks a unit can have at most, as CPUWeight= and IOWeight=.
HEAVIEST = 10000

_NAME = re.compile(r"^[A-Za-z0-9:_.\\@-]+\.service$")

_PROPERTIES = (
    "Id",
    "LoadState",
    "ActiveState",
    "SubState",
    "MainPID",
    "ControlGroup",
    "Type",
    "FragmentPath",
    "DropInPaths",
    "NRestarts",
    "Result",
    "CPUWeight",
    "IOWeight",
)


def full_name(name):
    """Unit name with its suffix: ``memcached`` → ``memcached.service``.

    :raises KupError: not the name of a service.
    """
    full = name if "." in name else f"{name}.service"
    if not _NAME.match(full):
        raise KupError(f"{name!r} is not the name of a systemd service, expected something like 'memcached.service'.")
    return full


def show(name, *properties):
    """Properties of a unit: dict of text, with an empty text for what systemd does not tell."""
    done = run(["systemctl", "show", f"--property={','.join(properties)}", "--", name])
    found = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
    return {key: found.get(key, "") for key in properties}


class Unit:
    """A service and its processes.

    ``name``, ``main_pid`` (0: none), ``cgroup`` (path below /sys/fs/cgroup), ``processes`` (list of `Process`),
    ``properties`` (dict as `show` gives it).
    """

    def __init__(self, name):
        self.name = full_name(name)
        self.properties = show(self.name, *_PROPERTIES)
        self.main_pid = int(self.properties["MainPID"] or 0)
        self.cgroup = self.properties["ControlGroup"]
        self.processes = processes.in_cgroup(self.cgroup) if self.cgroup else []

    @property
    def active(self):
        """Whether the unit is active and has a main process."""
        return self.properties["ActiveState"] == "active" and self.main_pid > 0

    @property
    def main(self):
        """The main process."""
        return processes.Process(self.main_pid)

    @property
    def own_mounts(self):
        """Whether the unit has a mount namespace of its own (a sandbox)."""
        return self.main.namespace("mnt") != os.readlink("/proc/1/ns/mnt")

    @property
    def rss(self):
        """Resident bytes of all processes."""
        return sum(process.rss for process in self.processes)

    @property
    def shmem(self):
        """Resident bytes of all processes' shared memory."""
        return sum(process.shmem for process in self.processes)

    def freeze(self):
        """Have the kernel keep all processes from running, whatever happens to the program that has stopped them.

        Control groups of version 1 have no freezer of this kind: nothing is done there.
        """
        self._set_freezer("1")

    def thaw(self):
        """Undo `freeze`."""
        self._set_freezer("0")

    def _set_freezer(self, state):
        path = f"{processes.CGROUPS}{self.cgroup}/cgroup.freeze"
        with contextlib.suppress(FileNotFoundError), open(path, "w", encoding="ascii") as stream:
            stream.write(state)

    def definition(self):
        """The unit's own text as systemd reads it: fragment and drop-ins, in order."""
        return _text(self.properties)

    def slices(self):
        """The same of the slices that the unit is in: dict name → text."""
        names = [name for name in self.cgroup.split("/") if name.endswith(".slice")]
        return {name: _text(show(name, "FragmentPath", "DropInPaths")) for name in names}


def _text(properties):
    texts = []
    for path in f"{properties['FragmentPath']} {properties['DropInPaths']}".split():
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            texts.append(stream.read())
    return "\n".join(texts)
