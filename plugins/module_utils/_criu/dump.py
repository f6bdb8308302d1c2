# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""One ``criu dump`` that stands by before the freeze, and then keeps its tree frozen until it is told to resume it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time

from .._errors import KupError, PassingError
from .._files import make_directory, write_file
from . import cleanup
from . import command as criu_command
from . import program as criu_program

# For each of CRIU's stages at which files/node/switch/action-script waits: what it says, and what it reads then.
_READY, _FREEZE, _DUMPED, _RESUME = _PIPES = ("ready", "freeze", "dumped", "resume")
# Less than what files/node/switch/action-script holds a tree for.
_HELD = 840
_UNDOING = 60  # seconds


class Dump:
    """A running dump of one unit into ``directory``.

    :param words: more of CRIU's command line, for an engine.
    :param descriptors: what these words name.

    CRIU starts at once; ``wait_ready`` returns when CRIU waits for ``freeze``, ``wait_complete`` when the images are complete and
    the tree is frozen; ``resume`` makes the application go on, at any time.
    """

    def __init__(self, unit, findings, directory, words=(), descriptors=()):
        self.unit, self.directory = unit, directory
        self._frozen_until = float("inf")
        make_directory(directory)
        for name in _PIPES:
            os.mkfifo(f"{directory}/{name}", 0o600)
        # Opened for both directions: neither side waits for the other to open, and no writer is lost.
        self._pipes = {name: os.open(f"{directory}/{name}", os.O_RDWR | os.O_NONBLOCK) for name in _PIPES}
        self._images = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        self._listing = cleanup.before(directory)
        with criu_program.of(unit, findings.ends) as program:
            # By descriptor: the unit's own view may have the directory read-only, or not at all.
            command = criu_command.dump_command(unit.main_pid, f"/proc/self/fd/{self._images}", findings, program)
            self._process = subprocess.Popen(  # pylint: disable=ansible-bad-function
                [*command, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[self._images, *descriptors, *program.descriptors],
                env=program.environment,
            )
        write_file(f"{directory}/criu.pid", f"{self._process.pid}\n")  # for files/node/switch/clean-up

    def wait_ready(self, deadline):
        """Wait until CRIU is about to freeze the tree, or until ``deadline`` (time.monotonic seconds).

        :raises KupError: CRIU failed or takes too long.
        """
        self._await(_READY, deadline)

    def freeze(self):
        """Tell CRIU to freeze and dump the tree."""
        self._frozen_until = time.monotonic() + _HELD
        os.write(self._pipes[_FREEZE], b"freeze\n")

    def wait_complete(self, deadline):
        """Wait for complete images; parameter and errors as of `wait_ready`.

        From here on the cgroup freezer holds the tree as well: if CRIU ended, the tree would run on and leave its image behind.
        """
        self._await(_DUMPED, deadline)
        self.unit.freeze()

    def _await(self, pipe, deadline):
        while True:
            try:
                if os.read(self._pipes[pipe], 64):
                    return
            except BlockingIOError:
                pass
            if self.ended:
                complaint = criu_command.complaint(self.directory, "dump", self._process.returncode)
                failure = KupError if self.killed else PassingError
                raise failure(f"CRIU could not dump {self.unit.name}: {complaint}")
            if time.monotonic() > deadline:
                raise KupError(self._too_late(pipe))
            time.sleep(0.005)

    def _too_late(self, pipe):
        log = f"{self.directory}/dump.log tells where it stopped"
        if pipe == _READY:
            return f"CRIU did not come to the freeze of {self.unit.name}; {log}."
        frozen = time.monotonic() - self._frozen_until + _HELD
        return f"The dump of {self.unit.name} was not complete {frozen:.0f} s after the freeze; {log}, and kup_freeze_max can give it more time."

    def check(self):
        """:raises KupError: the tree may have run since the dump; the images are not its state any more."""
        if self.ended:
            raise KupError(
                f"CRIU ended before the kexec, with {self.unit.name} frozen; {self.directory}/dump.log may tell why."
            )
        if time.monotonic() > self._frozen_until:
            raise KupError(
                f"{self.unit.name} was frozen for more than {_HELD} s, the longest time that is allowed; look for a slow disk."
            )

    @property
    def ended(self):
        """Whether CRIU has ended."""
        return self._process.poll() is not None

    @property
    def killed(self):
        """Whether CRIU was killed."""
        return (self._process.poll() or 0) < 0

    def resume(self):
        """Make CRIU undo its work on the tree; wait until it runs again.

        A CRIU in the middle of its work is not killed: it alone can remove its code from the tree. Its action script finds no pipe to
        ask then, and makes it resume the tree (files/node/switch/action-script).
        """
        self._clear_away()  # before the tree may run: a read from a connection in repair mode fails
        with contextlib.suppress(OSError):  # the unit may be gone
            self.unit.thaw()
        with contextlib.suppress(BlockingIOError):  # a dump that has not begun should not begin
            os.read(self._pipes[_FREEZE], 64)
        for pipe in (_FREEZE, _RESUME):  # the action script may outlive it
            os.write(self._pipes[pipe], b"go on\n")
        for name in _PIPES:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self.directory}/{name}")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_UNDOING)
        self._clear_away()

    def _clear_away(self):
        """If CRIU was killed, remove what it left on the tree."""
        if self._listing and self.killed:
            with contextlib.suppress(KupError, OSError):  # the tree is to run in any case
                self._listing.wait()
                cleanup.undo(self.unit.name, self.directory)
            self._listing = None

    @property
    def bytes(self):
        """Size of the images."""
        return sum(entry.stat().st_size for entry in os.scandir(self.directory) if entry.is_file())
