# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Engine ``criu``: pages travel in CRIU's own images on disk."""

from __future__ import annotations

import glob
import os

from .._boot import crash_kernel, kexec
from .._criu import command
from .._criu.dump import Dump


def blockers(images, daemon):
    """What stops this engine on this node, with images in ``images``: `Blocker`s. What stops every update is elsewhere.

    :param daemon: the page daemon has to be installed.
    """
    del images, daemon
    return []


def kernel_blockers(release, daemon):
    """What the installed kernel ``release`` lacks: `Blocker`s."""
    del release, daemon
    return []


def unit_blockers(unit):
    """What of the active ``unit`` this engine alone cannot carry: `Blocker`s."""
    del unit
    return []


def packages(kernels):
    """Debian packages that the engine needs for ``kernels`` (releases) and that are not there."""
    del kernels
    return []


def stage(release):
    """Prepare what the engine needs of the staged kernel ``release``; returns whether anything was written."""
    del release
    return False


def images_bytes(rss, shmem):
    """Size of the images, about.

    :param rss: bytes that are resident, of them ``shmem`` in shared memory.
    """
    del shmem
    return rss


def load(record, target):
    """Load the kernel ``target`` for the switch; returns a text for the next boot (`boot_plan`), or none."""
    if not kexec.loaded():
        kexec.load(target, crash_kernel.words(record, target))
    return ""


def seal(parts):
    """Once all trees are frozen and their checkpoints complete: the last thing before the boot plan."""
    del parts


def give_up():
    """The switch was given up, after `load` has at least begun."""


class Checkpoint:
    """One unit's way to the next kernel. Every engine has one with these methods.

    ``unit``, ``findings`` (of the last examination), ``directory`` (of the images), ``keeps_connections`` (TCP connections
    live on after the restore; else they are closed then).
    """

    def __init__(self, unit, directory, settings):
        """:param settings: the `Record`, for what the engine has in it."""
        self.unit, self.directory, self.settings = unit, directory, settings
        self.findings = None
        self.keeps_connections = True
        self._dump = None

    def approach(self):
        """While the application serves: copy what will not change until the freeze; returns whether that took time."""
        return False

    def approach_again(self):
        """The same once more, right before `begin`."""

    def begin(self):
        """Begin the dump, up to the freeze; the application serves on."""
        self._dump = Dump(self.unit, self.findings, self.directory, *self.dump_options())

    def ready(self, deadline):
        """Wait until nothing but `freeze` is missing; see `wait`."""
        self._dump.ready(deadline)

    def last_look(self):
        """Last of all before `freeze`, when all units are ready.

        :raises KupError: it must not be frozen now.
        """

    def freeze(self):
        """Freeze the tree and write its state."""
        self._dump.freeze()

    def dump_options(self):
        """(more words for CRIU's command line, descriptors that they name)."""
        return (), ()

    def wait(self, deadline):
        """Wait until the tree is frozen and its state is complete on disk.

        :param deadline: time.monotonic seconds.
        :raises KupError: it will not be.
        """
        self._dump.wait(deadline)

    @property
    def ended(self):
        """Whether the dump has ended, one way or the other; the tree is not frozen any more then."""
        return self._dump.ended

    @property
    def killed(self):
        """Whether the dump was killed: the application may not have survived that."""
        return bool(self._dump) and self._dump.killed

    def check(self):
        """:raises KupError: the application may run again, what was dumped is not its state any more."""
        self._dump.check()

    def let_go(self):
        """Make the application go on as if nothing had been."""
        if self._dump:
            self._dump.let_go()

    def discard(self):
        """Free the room of a checkpoint that nobody will restore; the logs stay."""
        for path in glob.glob(f"{glob.escape(self.directory)}/pages-*.img"):
            os.unlink(path)

    @property
    def bytes(self):
        """What was written for the switch, in bytes."""
        return self._dump.bytes

    def told(self):
        """What the report says of how the memory travelled: a dict."""
        return {}

    def restore_command(self, pidfile):
        """CRIU's command line for the next boot."""
        return command.restore_command(self.directory, self.findings, pidfile, self.keeps_connections)

    #: More lines for the [Service] section of the unit that is restored.
    service_lines = ""

    def services(self):
        """Services that the restore needs beside it: dict unit name → text."""
        return {}
