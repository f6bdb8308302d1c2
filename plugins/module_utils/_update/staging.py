# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The first step of an update: both kernels preserved and proven to load, and a new record."""

from __future__ import annotations

import contextlib
import os
import shutil
import time

from .._blocker import Blocked
from .._boot import crash_kernel, first_process, grub, kernels, kexec, panic
from .._criu import command
from .._criu.kernel_checks import criu_kernel, criu_processor
from .._engines import direct, registry
from .._environment import attributes
from .._errors import EngineError, KupError
from .._files import make_directory
from .._paths import KERNELS, PANIC_LOG, STATE
from .._system.units import Unit
from . import leftovers, timeline
from . import record as records


def stage(target, units, settings, *, initramfs, owner):
    """Preserve both kernels, prove that both can be loaded, and write a new record in phase ``prepared``.

    :param settings: the record's keys that are the user's choice, dict of text.
    :returns: whether anything was changed. A node on which the same is prepared already is left as it is.
    :raises EngineError: the engine cannot be prepared; another one may.
    :raises KupError: something else is refused; the applications were not touched.
    """
    _refuse_unfinished(owner, target)
    _end_cut_off(records.load())
    make_directory(STATE)
    old = kernels.running()
    _check_criu((old, target))
    for unit in map(Unit, units):
        attributes.refuse(unit, attributes.ask(unit.processes))
    changed = _preserve(old, target, registry.ENGINES[settings["ENGINE"]], initramfs)
    fresh = _fresh(target, units, old, settings)
    record = records.load()
    same = _is_prepared(record, fresh)
    if not same:
        begun = {"ID": time.strftime("%Y%m%dT%H%M%S", time.gmtime()), "STARTED": str(int(time.time()))}
        record = records.Record({**fresh, **begun, "START_SECONDS": records.load()["START_SECONDS"]})
        record["CRASHKERNEL"] = crash_kernel.room(kexec.place(old))
        record["FIRST_PROCESS"] = first_process.word(kexec.place(target))
        _prove_loading(record)
        changed = True
        timeline.begin()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(PANIC_LOG)
    record["PANIC"] = panic.settings()
    records.renew(record, owner)
    records.advance(record, "prepared")
    return changed


def packed(record):
    """Why kernels of the record are loaded as the packed files that they are, and unpack themselves in the outage: dict release → reason."""
    found = {kernel: direct.refusal(kernel) for kernel in (record["KERNEL_OLD"], record["KERNEL_NEW"])}
    return {kernel: reason for kernel, reason in found.items() if reason}


def is_staged(target, units, settings, *, owner):
    """Whether `stage` would find its work done; the same refusals for what the record says."""
    _refuse_unfinished(owner, target)
    fresh = _fresh(target, units, kernels.running(), settings)
    return _is_prepared(records.load(), fresh)


def _refuse_unfinished(owner, target):
    record = records.load()
    records.claim(record, owner, target)
    # Nothing of an incomplete checkpoint is needed any more; while one is being written, its writer holds the node's lock.
    if record.unfinished and record["PHASE"] not in ("prepared", "checkpointing"):
        raise KupError(
            f"This node is in phase {record['PHASE']!r} of an update to {record['KERNEL_NEW']}, expected none under way; "
            "commit it or undo it with 'ansible-playbook kup.fleet.kup_fallback'."
        )


def _end_cut_off(record):
    """End an update whose machine stopped during the checkpoint: a new record would forget the place of its images."""
    if record["PHASE"] == "checkpointing":
        records.advance(record, "aborted", "the machine stopped while the applications were checkpointed")
        leftovers.clean_up(record)


def _check_criu(releases):
    version = command.version()
    found = [each for kernel in releases for each in criu_kernel(version, kernel)]
    found += criu_processor(version, command.processor_flags())
    if found:
        raise Blocked(found)


def _preserve(old, target, engine, initramfs):
    """Copy both kernels with all that they need, and make the old one the boot default; returns whether anything was changed."""
    changed = grub.pin(old)
    # What is needed comes first: the disk may be nearly full.
    for kernel in (old, target):
        changed = kexec.preserve(kernel, initramfs) or changed
    for kernel in (old, target):
        changed = _prepare(engine, kernel) or changed
    changed = crash_kernel.provide_files(kexec.place(old)) or changed
    for name in os.listdir(KERNELS):
        if name not in (old, target):
            shutil.rmtree(f"{KERNELS}/{name}")
    return changed


def _prepare(engine, kernel):
    try:
        return engine.prepare(kernel)
    except KupError as error:
        raise EngineError(str(error)) from error


def _prove_loading(record):
    """Load both kernels, and leave none loaded: with one, `systemctl reboot` would jump into it."""
    for kernel in (record["KERNEL_OLD"], record["KERNEL_NEW"]):
        try:
            registry.ENGINES[record["ENGINE"]].prove(record, kernel)
        except KupError as error:
            raise EngineError(str(error)) from error
    kexec.unload()


def _is_prepared(record, fresh):
    return record["PHASE"] == "prepared" and all(record[key] == value for key, value in fresh.items())


def _fresh(target, units, old, settings):
    return {**settings, "UNITS": " ".join(units), "KERNEL_OLD": old, "KERNEL_NEW": target}
