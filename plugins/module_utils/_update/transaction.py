# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The steps of an update that a controller asks for, but for the switch itself: stage, commit, clean up."""

from __future__ import annotations

import contextlib
import os
import shutil
import time

from .._boot import crash_kernel, grub, kernels, kexec, panic
from .._criu import command
from .._engines import pending_memory, registry
from .._errors import KupError
from .._files import make_directory
from .._paths import BOOT, CHECKS, KERNELS, MEMORY, NUMBERS, PANIC_LOG, RUN, STATE
from .._run import run
from .._system.units import Unit
from . import gate, network_lock, timeline
from . import record as records


def stage(target, units, settings, *, initramfs, owner):
    """Stage both kernels, prove that both can be loaded, and write a new record in phase ``prepared``.

    :param settings: the record's keys that are the user's choice, dict of text.
    :returns: whether anything was changed. A node on which the same is prepared already is left as it is.
    :raises KupError: something is refused; the applications were not touched.
    """
    _refuse_unfinished(owner, target)
    _end_cut_off(records.load())
    make_directory(STATE)
    old = kernels.running()
    for kernel in (old, target):
        sentence = command.misfit(command.version(), kernel)
        if sentence:
            raise KupError(sentence)
    changed = grub.pin(old)
    engine = registry.ENGINES[settings["ENGINE"]]
    for kernel in (old, target):
        changed = kexec.preserve(kernel, initramfs) or changed
        changed = engine.prepare(kernel) or changed
    changed = crash_kernel.provide_files(kexec.place(old)) or changed
    _drop_other_kernels((old, target))
    fresh = _fresh(target, units, old, settings)
    record = records.load()
    same = _is_prepared(record, fresh)
    if not same:
        record = records.Record(fresh, ID=time.strftime("%Y%m%dT%H%M%S", time.gmtime()), STARTED=str(int(time.time())))
        record["CRASHKERNEL"] = crash_kernel.room(kexec.place(old))
    if not same or not kexec.loaded():
        # The preserved kernel first: loading is the proof that it can be. The target stays loaded.
        kexec.unload()
        kexec.load(old)
        kexec.unload()
        kexec.load(target, crash_kernel.words(record, target))
        changed = True
    if not same:
        timeline.begin()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(PANIC_LOG)
    record["PANIC"] = panic.settings()
    records.renew(record, owner)
    records.advance(record, "prepared")
    return changed


def is_staged(target, units, settings, *, owner):
    """Whether `stage` would find its work done; the same refusals for what the record says."""
    _refuse_unfinished(owner, target)
    fresh = _fresh(target, units, kernels.running(), settings)
    return _is_prepared(records.load(), fresh) and kexec.loaded()


def _refuse_unfinished(owner, target):
    record = records.load()
    records.claim(record, owner, target)
    # A checkpoint that was never completed has nothing that is still needed; one that is being written holds the lock.
    if record.unfinished and record["PHASE"] not in ("prepared", "checkpointing"):
        raise KupError(
            f"This node is in phase {record['PHASE']!r} of an update to {record['KERNEL_NEW']}, expected none under way; "
            "commit it or undo it with 'ansible-playbook kup.fleet.kup_fallback'."
        )


def _end_cut_off(record):
    """End an update that stopped with its machine while it was checkpointed: after the next one nobody would know its images."""
    if record["PHASE"] == "checkpointing":
        records.advance(record, "aborted", "the machine stopped while the applications were checkpointed")
        clean_up(record)


def _is_prepared(record, fresh):
    return record["PHASE"] == "prepared" and all(record[key] == value for key, value in fresh.items())


def _fresh(target, units, old, settings):
    return {**settings, "UNITS": " ".join(units), "KERNEL_OLD": old, "KERNEL_NEW": target}


def _drop_other_kernels(keep):
    for name in os.listdir(KERNELS):
        if name not in keep:
            shutil.rmtree(f"{KERNELS}/{name}")


def forgetful(record):
    """Names of the units on probation that have lost what this update brought back of their memory: a list."""
    found = [Unit(name) for name in record.units]
    return [unit.name for unit in found if pending_memory.lost(unit.name) or gate.started_anew(unit)]


def commit(dry=False):
    """Keep the new kernel: from here on the boot loader starts it, and nothing falls back by itself.

    :param dry: only look.
    :returns: whether anything was changed (a committed node stays as it is).
    :raises KupError: the node is not on probation on the new kernel.
    """
    record = records.load()
    if record["PHASE"] == "committed" and record["KERNEL_NEW"] == kernels.running():
        return False
    if record["PHASE"] != "probation" or record["KERNEL_NEW"] != kernels.running():
        raise KupError(
            f"This node is in phase {record['PHASE'] or 'none'!r} on kernel {kernels.running()}, expected 'probation' on "
            f"{record['KERNEL_NEW'] or 'a new kernel'}; there is nothing to commit."
        )
    pending_memory.refuse()
    if dry:
        return True
    records.save(record)  # where that cannot be written, all stays as it is: the deadline, the watch, the boot loader
    # Whoever commits without the gate's judgement has what it would have refused.
    data = "fresh" if forgetful(record) else None
    crash_kernel.disarm(record)  # first: what panics from here on is not to be taken back
    panic.put_back(record["PANIC"])  # before the boot loader's default is the new kernel
    grub.unpin(record["KERNEL_NEW"])
    timeline.mark("committed")
    records.advance(record, "committed", data=data)
    # Not before: where this ends half-way, the deadline still takes the node back. Meanwhile the lock keeps them out.
    run(["systemctl", "stop", "kup-deadline.timer", "kup-deadline.service"])
    run(["systemctl", "stop", "kup-watch.timer", "kup-watch.service"], check=False)  # there is none if it is not wanted
    # The tries of one may be used up, and one that is ended has failed.
    run(["systemctl", "reset-failed", "kup-deadline.service", "kup-watch.service", "kup-crash.service"], check=False)
    clean_up(record)
    return True


def clean_up(record, dry=False):
    """Remove what a finished update leaves: images, boot plan, holds. The record and the preserved kernel stay.

    :param dry: only look.
    :returns: whether there was anything.
    """
    if record.unfinished or record["PHASE"] == "failed":
        raise KupError(f"The update is in phase {record['PHASE']!r}; what it left behind is still needed.")
    pending_memory.refuse()
    images = f"{record['IMAGES']}/{record['ID']}" if record["ID"] else None
    staged = record["PHASE"] != "committed" and kexec.loaded()
    left = staged or os.path.exists(BOOT) or bool(images and os.path.exists(images)) or bool(_run_files())
    if dry or not left:
        return left
    if images:
        shutil.rmtree(images, ignore_errors=True)
    shutil.rmtree(BOOT, ignore_errors=True)
    network_lock.release()
    if staged:
        kexec.unload()
    registry.ENGINES[record["ENGINE"] or "criu"].give_up()
    run(["systemctl", "daemon-reload"])
    _clear_run()
    return True


def _run_files():
    names = os.listdir(RUN) if os.path.isdir(RUN) else []
    return [f"{RUN}/{name}" for name in names if name != "lock"]


def _clear_run():
    for path in _run_files():
        os.unlink(path)


def forget(record, dry=False):
    """Give up what an update keeps: the preserved kernel, and what no kernel could restore. The record stays.

    An update that never came to its switch is ended.

    :param dry: only look.
    :returns: whether there was anything.
    :raises KupError: the applications are on their way, or on probation.
    """
    begun = record["PHASE"] in ("prepared", "checkpointing")  # what writes a checkpoint holds the lock
    if record.unfinished and not begun:
        raise KupError(
            f"This node is in phase {record['PHASE']!r} of an update to {record['KERNEL_NEW']}, expected a finished one; "
            "commit it or undo it with 'ansible-playbook kup.fleet.kup_fallback'."
        )
    pending_memory.refuse()
    if begun and not dry:
        records.advance(record, "aborted", "released before the switch")
    cleaned = record["PHASE"] in ("aborted", "fell_back") and clean_up(record, dry)
    kept = [KERNELS, BOOT, MEMORY, NUMBERS, CHECKS, PANIC_LOG] + (
        [f"{record['IMAGES']}/{record['ID']}"] if record["ID"] else []
    )
    left = [path for path in kept if os.path.exists(path)]
    for path in left if not dry else ():
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    if not dry:
        _clear_run()  # where the applications could not be brought back, nobody has done it
    return bool(begun or cleaned or left)
