# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What an update leaves on the node, and its removal: `clean_up` after every update, `uninstall` when nothing is to stay."""

from __future__ import annotations

import os
import shutil

from .._boot import first_process, kexec
from .._engines import pending_memory, registry
from .._environment import kept
from .._errors import KupError
from .._paths import BOOT, CHECKS, DRAINED, KERNELS, MEMORY, NUMBERS, PANIC_LOG, REHEARSAL_IMAGES, REHEARSALS, RUN
from .._run import run
from . import network_lock, private_tmp
from . import record as records


def clean_up(record, dry=False):
    """Remove what a finished update leaves: images, boot plan, network lock. The record and the preserved kernel stay.

    :param dry: only say whether there is anything.
    :returns: whether there was anything.
    :raises KupError: the images are still needed.
    """
    if record.unfinished or record["PHASE"] == "failed":
        raise KupError(f"The update is in phase {record['PHASE']!r}; its images are still needed.")
    pending_memory.refuse()
    images = _images(record)
    loaded = record["PHASE"] != "committed" and kexec.loaded()
    left = loaded or bool(remains(record))
    if dry or not left:
        return left
    if images:
        shutil.rmtree(images, ignore_errors=True)
    for directory in (BOOT, REHEARSAL_IMAGES):
        shutil.rmtree(directory, ignore_errors=True)
    network_lock.release()
    network_lock.release(network_lock.WAITING)
    if loaded:
        kexec.unload()
    registry.ENGINES[record["ENGINE"] or "criu"].give_up()
    # Before the reload: drop-ins are among it.
    kept.remove()
    if record["PHASE"] != "committed":
        first_process.forget()
    run(["systemctl", "daemon-reload"])
    private_tmp.remove_unused()
    _clear_run()
    return True


def remains(record):
    """Paths of what `clean_up` removes after a finished update."""
    return (
        [path for path in (BOOT, REHEARSAL_IMAGES, _images(record)) if path and os.path.exists(path)]
        + _run_files()
        + kept.removable()
    )


def uninstall(record, dry=False):
    """Remove also the preserved kernel, and images that no kernel could restore. The record stays.

    An update that never came to its switch is ended.

    :param dry: only say whether there is anything.
    :returns: whether there was anything.
    :raises KupError: the applications are between two kernels, or on probation.
    """
    begun = record["PHASE"] in ("prepared", "checkpointing")  # the writer of a checkpoint holds the node's lock
    if record.unfinished and not begun:
        raise KupError(
            f"This node is in phase {record['PHASE']!r} of an update to {record['KERNEL_NEW']}, expected a finished one; "
            "commit it or undo it with 'ansible-playbook kup.fleet.kup_fallback'."
        )
    pending_memory.refuse()
    if begun and not dry:
        records.advance(record, "aborted", "released before the switch")
    cleaned = record["PHASE"] in ("aborted", "fell_back") and clean_up(record, dry)
    cleaned = first_process.leave_to_systemd(dry) or cleaned
    left = [path for path in [*_kept(), _images(record)] if path and os.path.exists(path)]
    if not dry:
        for path in left:
            _remove(path)
        private_tmp.remove_unused()
        _clear_run()  # `clean_up` refuses a failed update
        kept.remove()
    return bool(begun or cleaned or left)


def _kept():
    return [KERNELS, BOOT, MEMORY, NUMBERS, CHECKS, DRAINED, PANIC_LOG, REHEARSALS, REHEARSAL_IMAGES]


def _images(record):
    """The directory with the images of the record's update, or None."""
    return f"{record['IMAGES']}/{record['ID']}" if record["ID"] else None


def _remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def _run_files():
    names = os.listdir(RUN) if os.path.isdir(RUN) else []
    return [f"{RUN}/{name}" for name in names if name != "lock"]


def _clear_run():
    for path in _run_files():
        os.unlink(path)
