# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What a memory engine is: the way of an application's pages from one kernel to the next.

`Engine` is about the node, `Checkpoint` about one unit. `registry` says how to add one.
"""

from __future__ import annotations

import abc

from .._boot import forward
from . import direct

#: What may happen between the freeze and the commit (``kup_survive``).
DANGERS = RESTORE_FAILURE, PANIC, POWER_CUT = "restore_failure", "panic", "power_cut"


class Engine(abc.ABC):
    """One engine. It has no state of its own: all that lasts is in the record, in the images, or in the kernel.

    The defaults fit an engine that writes all memory to disk and needs nothing beyond what every update needs.
    """

    #: The value of ``kup_engine`` that selects it.
    name = ""
    #: What the applications' state survives at any moment, of `DANGERS`.
    survives = frozenset(DANGERS)
    #: Whether it can write the disk checkpoint of an engine that does not survive all of them (``kup_ppp_disk_checkpoint``).
    writes_disk_checkpoints = False

    def blockers(self, images, daemon):
        """What stops this engine on this node: a list of `Blocker`s. What stops every update is in `preflight`.

        :param images: directory for checkpoint images.
        :param daemon: whether a missing page daemon is a blocker; before its installation it is none.
        """
        del images, daemon
        return []

    def kernel_blockers(self, release, daemon):
        """What the installed kernel ``release`` lacks: a list of `Blocker`s. Parameter ``daemon``: see `blockers`."""
        del release, daemon
        return []

    def unit_blockers(self, unit):
        """What of the active `Unit` ``unit`` this engine cannot carry, although another may: a list of `Blocker`s."""
        del unit
        return []

    def packages(self, kernels):
        """Debian packages that the engine needs for ``kernels`` (releases) and that are not installed: a list."""
        del kernels
        return direct.packages()

    def prepare(self, release):
        """Prepare what the engine needs of the preserved kernel ``release``, hours before the switch.

        :returns: whether anything was written.
        :raises KupError: the kernel does not fit.
        """
        return direct.prepare(release)

    def prove(self, record, target):
        """Load the preserved kernel ``target`` as a switch would: of the file that its package has, the running kernel takes a SHA-256 with all
        zeros behind it, and gives nobody else that processor until it has it.

        :raises KupError: kexec(8) refuses it.
        """
        direct.load(target, forward.words(record, target))

    def images_bytes(self, rss, shmem):
        """Estimated size of the images.

        :param rss: resident bytes of the applications, of which ``shmem`` are shared memory.
        """
        del shmem
        return rss

    def memory_forecast(self, rss, freeze_target):
        """Seconds for which ``rss`` bytes of the applications' memory are expected to keep them from answering.

        :param freeze_target: ``kup_freeze_target``, seconds.
        """
        del freeze_target
        # Written in the freeze, and read in the restore.
        return 2 * rss / Checkpoint.pace

    def load(self, record, target):
        """Load the kernel ``target`` for the switch.

        :returns: a text for the shell of the next boot (boot/N/frames, see `boot_plan`); empty: none.
        :raises KupError: the kernel cannot be loaded. The caller calls `give_up`.
        """
        direct.load(target, forward.words(record, target))
        return ""

    def seal(self, checkpoints):
        """Finish ``checkpoints`` when all trees are frozen and all dumps complete, before the boot plan is completed.

        :raises KupError: the next kernel could not restore them.
        """
        del checkpoints

    def give_up(self):  # noqa: B027  most engines have nothing to undo
        """Undo `load` and `seal`, however far they came. Called after a failed switch and by the clean-up of an update."""

    @abc.abstractmethod
    def checkpoint(self, unit, directory, settings):
        """A new `Checkpoint` of the `Unit` ``unit``, with its images in ``directory``.

        :param settings: the record, for the settings of the engine.
        """


class Checkpoint(abc.ABC):
    """One unit's way to the next kernel.

    The calls come in this order: `pre_copy`, `pre_copy_again`, `start`, `wait_ready`, `before_freeze`, `freeze`, `wait_complete`,
    `check`. After each of them `resume` may come, and after that `discard`. Between two of them all checkpoints of an update are
    brought equally far.
    """

    #: Names of further templates (files/node/units) for drop-ins of the unit that is restored.
    restored_templates = ()
    #: Whether the restore itself brings the memory in; otherwise it comes while the application runs.
    restores_memory = True
    #: Bytes of memory in a second that are written for the switch, and come in again after it: what a slow disk does.
    pace = 64 << 20

    def __init__(self, unit, directory, settings):
        """:param settings: the record, for the settings of the engine."""
        self.unit, self.directory, self.settings = unit, directory, settings
        #: `examination.Findings` of the last examination.
        self.findings = None
        #: What the processes have told of themselves before the freeze (`_environment.attributes.ask`); None: they were not asked.
        self.attributes = None
        #: What `_environment.fork_wiping.look` has seen then; None: CRIU puts it back.
        self.wiped = None
        #: System calls that its threads were in right before the freeze (`_environment.interrupted.note`).
        self.calls = {}
        #: Whether requests of libaio may be under way (`_update.disk_requests`).
        self.has_ring = False
        #: Whether TCP connections live on after the restore; otherwise the restore closes them.
        self.keeps_connections = True

    def pre_copy(self):
        """While the application serves: copy what is not expected to change until the freeze.

        :returns: whether that took time, in which the unit may have changed.
        """
        return False

    def pre_copy_again(self):  # noqa: B027
        """The last preparation while the application serves, immediately before `start`."""

    @abc.abstractmethod
    def start(self):
        """Start the dump up to the freeze; the application serves on."""

    @abc.abstractmethod
    def wait_ready(self, deadline):
        """Wait until only `freeze` is missing. Parameter and errors: see `wait_complete`."""

    def freeze_forecast(self):
        """Seconds for which the memory of the unit keeps it frozen, as far as is known before the freeze."""
        return self.unit.rss / self.pace

    def before_freeze(self):  # noqa: B027
        """Called when all units are ready, immediately before the network lock and `freeze`.

        :raises KupError: the unit must not be frozen now.
        """

    @abc.abstractmethod
    def freeze(self):
        """Have the tree frozen and its state written; returns at once."""

    @abc.abstractmethod
    def wait_complete(self, deadline):
        """Wait until the tree is frozen and its state is complete on disk.

        :param deadline: time.monotonic seconds.
        :raises KupError: the dump failed or takes too long.
        """

    @abc.abstractmethod
    def check(self):
        """Check immediately before the record names the checkpoint.

        :raises KupError: the application may have run since the dump, which is not its state any more.
        """

    @abc.abstractmethod
    def resume(self):
        """Make the application go on as if there had been no dump. Called at any time, also before `start`."""

    @property
    @abc.abstractmethod
    def killed(self):
        """Whether the dump was killed: the application may not have survived that."""

    @abc.abstractmethod
    def discard(self):
        """Free the disk space of a checkpoint that nobody will restore; the logs stay."""

    @property
    @abc.abstractmethod
    def bytes(self):
        """What was written for the switch, in bytes."""

    def statistics(self):
        """What the report says of how the memory travelled: a dict."""
        return {}

    @abc.abstractmethod
    def restore_command(self, pidfile):
        """Words of the command line that restores the unit in the next boot."""

    def services(self):
        """Services that the restore needs beside it: dict unit name → text."""
        return {}
