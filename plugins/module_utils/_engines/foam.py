# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Engine ``foam``: pages travel in a flat sparse file whose offsets are addresses.

The application serves while rounds of CRIU's pre-dump fill the file; the last one, frozen, writes what has changed since.
After the switch it runs at once, and its pages come when it touches them (files/paged).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time

from .._criu import command as criu_command
from .._criu import program as criu_program
from .._criu import stats
from .._errors import KupError, PassingError
from .._files import make_directory, read_text
from .._system import filesystems, huge_pages
from . import checks, page_daemon, rounds
from .base import Engine
from .page_daemon import PROGRAM, Server
from .page_server import ON_DEMAND, PageServerCheckpoint

_FEATURES = ("mem_dirty_track", "uffd-noncoop")
_OPTIONS = ("CONFIG_MEM_SOFT_DIRTY", "CONFIG_USERFAULTFD")
_ROUND = 3600  # seconds for one round; the application serves meanwhile
_ROOM = 1.1  # a round's pages and what describes them


class Foam(Engine):
    """See `base.Engine`."""

    name = "foam"
    writes_disk_checkpoints = True

    def blockers(self, images, daemon):
        found = checks.page_daemon(PROGRAM, page_daemon.runs()) if daemon else []
        for feature in _FEATURES:
            found += checks.criu_feature(feature, criu_command.check(feature))
        return found + checks.images_file_system(images, filesystems.of(images).kind)

    def memory_forecast(self, rss, freeze_target):
        del rss
        return freeze_target

    def kernel_blockers(self, release, daemon):
        del daemon
        return checks.kernel_option(release, read_text(f"/boot/config-{release}", ""), _OPTIONS)

    def checkpoint(self, unit, directory, settings):
        return FoamCheckpoint(unit, directory, settings)


class FoamCheckpoint(PageServerCheckpoint):
    """See `base.Checkpoint`."""

    restores_memory = False

    def __init__(self, unit, directory, settings):
        super().__init__(unit, directory, settings)
        self._place = f"{directory}/store"
        self._done = []
        self._huge_kib = 0
        self._stored = {}

    def pre_copy(self):
        """Rounds, until the freeze is expected to be as short as wanted, or gets no shorter; one is left for the end."""
        most = int(self.settings["ROUNDS_MAX"])
        if most:
            self._huge_kib = huge_pages.suspend(self.unit.processes)
        while len(self._done) < most - 1:
            self._round()
            if rounds.enough(self._done, float(self.settings["FREEZE_TARGET"]), time.monotonic()):
                break
        return bool(most)

    @property
    def pace(self):
        return rounds.pace(self._done) or super().pace

    def freeze_forecast(self):
        expected = rounds.expected_freeze(self._done, time.monotonic())
        return super().freeze_forecast() if expected is None else expected

    def pre_copy_again(self):
        if int(self.settings["ROUNDS_MAX"]):
            self._round()

    def _round(self):
        number = len(self._done) + 1
        directory = f"{self.directory}/rounds/{number}"
        for path in (self.directory, self._place, os.path.dirname(directory), directory):
            make_directory(path)
        self._check_room()
        began = time.monotonic()
        images = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        store = Server(["store", "--store", self._place, *(["--first"] if number == 1 else [])])
        try:
            code = self._pre_dump(images, store)
            if code != 0:
                complaint = criu_command.complaint(directory, "pre-dump", code)
                error = PassingError(f"CRIU could not copy the memory of {self.unit.name}: {complaint}")
                raise page_daemon.with_cause(store, error)
            said = store.finish()
        except subprocess.TimeoutExpired as error:
            raise KupError(
                f"Round {number} of copying {self.unit.name} took more than {_ROUND} s, it is given up."
            ) from error
        finally:
            os.close(images)
            store.end()
        frozen = stats.frozen(f"{directory}/stats-dump")
        self._done.append(rounds.Round(began, time.monotonic() - began, said["pages"], frozen))

    def _pre_dump(self, images, store):
        """Run CRIU with its images in the directory of the descriptor ``images``; returns its exit code."""
        with criu_program.of(self.unit) as program:
            command = criu_command.pre_dump_command(self.unit.main_pid, f"/proc/self/fd/{images}", program)
            return subprocess.run(  # pylint: disable=ansible-bad-function
                [*command, *store.options, *self._parent("..")],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[images, store.socket, *program.descriptors],
                env=program.environment,
                timeout=_ROUND,
                check=False,
            ).returncode

    def _parent(self, there):
        """Words that make CRIU leave out what the last round has.

        :param there: path of the directory with the rounds, from that of the images.
        """
        return ["--prev-images-dir", f"{there}/{len(self._done)}"] if self._done else []

    def _check_room(self):
        """:raises KupError: the next round would not fit on the disk."""
        pages = self._done[-1].pages if self._done else self.unit.rss // os.sysconf("SC_PAGE_SIZE")
        needed = int(pages * os.sysconf("SC_PAGE_SIZE") * _ROOM)
        free = shutil.disk_usage(self.directory).free
        if free < needed:
            raise KupError(
                f"{self.directory} has {free >> 20} MiB free, expected {needed >> 20} MiB for the next round of copying "
                f"{self.unit.name}; make room or set kup_images_dir."
            )

    def start_server(self):
        for path in (self.directory, self._place):
            make_directory(path)
        words = ["--last", "--images-dir", self.directory, *([] if self._done else ["--first"])]
        return Server(["store", "--store", self._place, *words])

    def parent_options(self):
        return self._parent("rounds")

    def wait_complete(self, deadline):
        super().wait_complete(deadline)
        self._stored = self.server.finish()

    def resume(self):
        super().resume()
        huge_pages.resume()

    def discard(self):
        super().discard()
        for directory in (self._place, f"{self.directory}/rounds"):
            shutil.rmtree(directory, ignore_errors=True)

    @property
    def bytes(self):
        return (
            super().bytes + self._stored["bytes"] + sum(done.pages for done in self._done) * os.sysconf("SC_PAGE_SIZE")
        )

    def statistics(self):
        return {
            "rounds": [done.as_dict() for done in self._done],
            "last_pages": self._stored["pages"],
            "huge_pages_split_kib": self._huge_kib,
        }

    def restore_command(self, pidfile):
        return [*super().restore_command(pidfile), ON_DEMAND]

    def services(self):
        return self.server_unit(["--store", self._place])
