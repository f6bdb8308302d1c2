# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Engine ``ppp``: persistent physical pages. The application's page frames stay where they are, nothing is copied.

CRIU dumps everything but the content of memory. The next kernel reserves the frames, and gives them back to the restored,
still stopped processes as ordinary memory.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re

from .._blocker import about
from .._boot import crash_kernel, forward, kexec
from .._criu import command
from .._errors import KupError
from .._files import read_text
from .._system import memory
from .._system.units import Unit
from . import checks, empty_parent, frames, kmod, page_daemon, swap
from .base import RESTORE_FAILURE, Engine
from .page_server import ON_DEMAND, PageServerCheckpoint

_FEATURE = "mem_dirty_track"
_LAZY_FEATURE = "uffd-noncoop"
_OLDEST_LAZY = (6, 12)  # KUP_PPP_FILL
# A unit with so much memory or more gets each page when it needs it: less memory is bound as a whole in a tenth of a second.
_MUCH = 256 << 20
# A walk over the page tables of so much memory in small pages takes a few milliseconds.
_SMALL = 256 << 20
_HUGE_FIELDS = ("AnonHugePages", "ShmemPmdMapped", "FilePmdMapped")  # of /proc/PID/smaps_rollup
_PAGE = 4096
# Bytes a second at which frames are bound, and CRIU looks at pages: half of what _MUCH says.
_PACE = 1 << 30
# Bytes a second of an outage: 8 GiB cost 0.4 s (docs/engines.md).
_OUTAGE_PACE = 20 << 30
# systemd makes bytes of it when it reads the unit: systemd.resource-control(5)
_RELATIVE = re.compile(r"^\s*(Memory\w+\s*=\s*[\d.]+%)", re.M)
_HUGE = "/sys/kernel/mm/transparent_hugepage/hugepages-*/enabled"


class Ppp(Engine):
    """See `base.Engine`."""

    name = "ppp"
    # Frames with which the applications have run again are not those of the checkpoint any more.
    survives = frozenset((RESTORE_FAILURE,))

    def memory_forecast(self, rss, freeze_target):
        del freeze_target
        return rss / _OUTAGE_PACE

    def blockers(self, images, daemon):
        del images  # hardly anything is written there
        found = checks.machine(os.uname().machine)
        if daemon:
            found += checks.page_daemon(page_daemon.PROGRAM, page_daemon.runs())
        found += checks.unsigned_code(read_text("/sys/kernel/security/lockdown", ""))
        found += checks.huge_page_size({path.split("/")[-2]: read_text(path, "") for path in sorted(glob.glob(_HUGE))})
        return found + checks.criu_feature(_FEATURE, command.check(_FEATURE))

    def kernel_blockers(self, release, daemon):
        found = checks.kernel_too_old(release, kmod.NAME)
        if not found and daemon:
            found += checks.kernel_headers(release, kmod.NAME, kmod.headers(release) or kmod.installed(release))
        return found

    def unit_blockers(self, unit):
        texts = {unit.name: unit.definition(), **unit.slices()}
        limits = [(where, setting) for where, text in texts.items() for setting in _RELATIVE.findall(text)]
        found = checks.relative_memory_limit(limits)
        # What is locked need not be there (MLOCK_ONFAULT).
        found += checks.locked_memory(sum(min(each.size("VmLck"), each.size("VmRSS")) for each in unit.processes))
        found += checks.shared_copies(_copies(unit), memory.available())
        return about(found, unit=unit.name) + swap.blockers(unit)

    def packages(self, kernels):
        return kmod.packages(kernels) + super().packages(kernels)

    def prepare(self, release):
        return frames.prepare(release)

    def prove(self, record, target):
        # A way back without frames takes the file that its package has (files/node/boot/go-back.sh).
        if target == record["KERNEL_OLD"]:
            kexec.unload()
            kexec.load(target, call="--kexec-syscall")
        frames.prove(target, forward.words(record, target))

    def images_bytes(self, rss, shmem):
        # Shared memory, what is private of files, CRIU's own description of the rest.
        return shmem + rss // 32

    def load(self, record, target):
        kernels = {record["KERNEL_OLD"], record["KERNEL_NEW"]}
        words = forward.words(record, target)
        resident = sum(Unit(name).rss for name in record.units)
        crash = crash_kernel.piece(kexec.place(record["KERNEL_OLD"])) if "crashkernel=" in words else 0
        return frames.load(target, kernels, resident, words, crash)

    def seal(self, checkpoints):
        task = 0
        for each in checkpoints:
            task = each.record_frames(task)
        table = frames.complete(sum(each.unit.rss for each in checkpoints))
        _check_copies(table)
        for each in checkpoints:
            each.table = table

    def give_up(self):
        frames.drop()

    def checkpoint(self, unit, directory, settings):
        return PppCheckpoint(unit, directory, settings, is_lazy=_is_lazy(unit, settings))


def _copies(unit):
    """Bytes that the processes of ``unit`` will have more when none shares its pages copy-on-write any more."""
    if len(unit.processes) == 1:  # smaps_rollup costs a walk over the page tables
        return 0
    # Of a page that N processes share, each has the whole in Anonymous, and a part of N in Pss_Anon.
    return sum(max(0, sizes.get("Anonymous", 0) - sizes.get("Pss_Anon", 0)) for sizes in _rollups(unit))


def _rollups(unit):
    return [memory.sizes(read_text(f"{process.path}/smaps_rollup", "")) for process in unit.processes]


def _check_copies(table):
    """:raises KupError: pages that several processes share copy-on-write do not fit into memory, once for each of them."""
    shared = table["pages"] - (table["frames"] - table["own"])
    free = memory.available()
    if shared * _PAGE > free:
        raise KupError(
            f"The processes share {shared * _PAGE >> 20} MiB copy-on-write, of which each would get its own, but only "
            f"{free >> 20} MiB of memory are available; use the engine foam."
        )


def _is_lazy(unit, settings):
    """Whether the unit's memory is bound when it is needed, not before the unit runs."""
    wanted = settings["PPP_BIND"]
    if wanted == "eager" or (wanted != "lazy" and unit.rss < _MUCH):
        return False
    kernels = (settings["KERNEL_OLD"], settings["KERNEL_NEW"])  # either may have to restore it
    return all(command.numbers(kernel)[:2] >= _OLDEST_LAZY for kernel in kernels) and not command.check(_LAZY_FEATURE)


class PppCheckpoint(PageServerCheckpoint):
    """See `base.Checkpoint`.

    ``table``: what the kernel module says of the complete table of frames, a dict.
    """

    pace = _PACE

    def __init__(self, unit, directory, settings, is_lazy):
        """:param is_lazy: whether the memory is bound when it is needed, not before the unit runs."""
        super().__init__(unit, directory, settings)
        self._is_lazy = is_lazy
        self.restores_memory = not is_lazy
        self._is_small = False
        self._recorded = {}
        self.table = {}

    def pre_copy(self):
        """What is swapped out comes in now, not while the application stands still; returns whether that took time."""
        return swap.bring_in(self.unit)

    def pre_copy_again(self):
        empty_parent.make(self.directory)

    def before_freeze(self):
        unit = Unit(self.unit.name)  # some of its processes may be new
        swap.check(unit)
        # What is not written to from here on, CRIU takes for unchanged since its parent and does not read. The rest it reads for
        # nothing, so: as late as possible, in the freeze where the page tables are small.
        if self._is_small:
            return
        for process in unit.processes:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                _clear_soft_dirty(process)

    def start_server(self):
        self._is_small = _small_pages(self.unit) <= _SMALL
        words = [*(["--lazy"] if self._is_lazy else []), *(["--clear-soft-dirty"] if self._is_small else [])]
        return page_daemon.Server(["record", "--images-dir", self.directory, *words])

    def parent_options(self):
        return empty_parent.OPTIONS

    def record_frames(self, first):
        """Record the tree's frames; its tasks are numbered from ``first`` on. Returns the next free number."""
        self._recorded = self.server.finish(f"{first}\n")
        return first + self._recorded["objects"]

    @property
    def restored_templates(self):
        return ["restored-devices.conf"] if self.unit.device_policy else []

    def statistics(self):
        return {**self._recorded, "table": self.table}

    def restore_command(self, pidfile):
        return [*super().restore_command(pidfile), *([ON_DEMAND] if self._is_lazy else [])]

    def services(self):
        return self.server_unit(["--frames"], needed=kmod.DEVICE) if self._is_lazy else {}


def _small_pages(unit):
    """Bytes of the unit's memory that are not in huge pages: each 4096 of them are an entry of a page table."""
    return sum(size.get("Rss", 0) - sum(size.get(field, 0) for field in _HUGE_FIELDS) for size in _rollups(unit))


def _clear_soft_dirty(process):
    with open(f"{process.path}/clear_refs", "w", encoding="ascii") as stream:
        stream.write("4")
