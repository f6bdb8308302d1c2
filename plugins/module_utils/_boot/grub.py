# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""GRUB's default entry: the old kernel until commit, the new one from then on."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import struct

from .._errors import KupError
from .._files import read_text, write_file
from .._run import run
from . import checks

_CONFIGURATION = "/boot/grub/grub.cfg"
_ENVIRONMENT = "/boot/grub/grubenv"
_SET_DEFAULT = "/usr/sbin/grub-set-default"
# Read by update-grub after /etc/default/grub.
_PIN = "/etc/default/grub.d/kup.cfg"
# EXT4_IOC_CHECKPOINT, Linux 5.14: everything in the journal is written to its place.
_CHECKPOINT = 0x4004662B


def blockers():
    """Why the default of this node's boot loader cannot be set: `Blocker`s."""
    return checks.boot_loader(_CONFIGURATION, os.path.exists(_CONFIGURATION) and os.path.exists(_SET_DEFAULT))


def entry(release):
    """GRUB's id of the entry of ``release``, e.g. ``gnulinux-advanced-U>gnulinux-R-advanced-U``.

    :raises KupError: there is no such entry.
    """
    menu = ""
    for line in read_text(_CONFIGURATION, "").splitlines():
        match = re.match(r"\s*(submenu|menuentry) .*\$menuentry_id_option '([^']+)'", line)
        if match and match.group(1) == "submenu":
            menu = match.group(2) + ">"
        elif match and match.group(2).startswith(f"gnulinux-{release}-advanced-"):
            return menu + match.group(2)
    raise KupError(f"{_CONFIGURATION} has no entry for kernel {release}; run update-grub and look at its messages.")


def default():
    """The saved default entry; empty text if none is saved."""
    done = run(["grub-editenv", _ENVIRONMENT, "list"], check=False)
    match = re.search(r"^saved_entry=(.*)$", done.stdout, re.MULTILINE)
    return match.group(1) if match else ""


def pinned():
    """Whether the saved entry is what GRUB boots."""
    return 'set default="${saved_entry}"' in read_text(_CONFIGURATION, "")


def pin(release):
    """Make ``release`` the boot default until `unpin` or `recall`, whatever kernels are installed meanwhile.

    :returns: whether anything had to be changed.
    """
    changed = False
    if not pinned():
        os.makedirs(os.path.dirname(_PIN), exist_ok=True)
        write_file(_PIN, "# Written by kup.fleet for the time of a kernel update.\nGRUB_DEFAULT=saved\n", 0o644)
        run(["update-grub"], timeout=600)
        _flush()
        changed = True
    return set_default(release) or changed


def set_default(release):
    """Make ``release`` the saved default; returns whether it was another."""
    wanted = entry(release)
    if default() == wanted:
        return False
    run(["grub-set-default", wanted])
    _flush()
    return True


def unpin(release):
    """End `pin` after commit: GRUB's own rule again, unless that would boot another kernel than ``release``.

    On a node whose operator works with a saved default, and after a step to an older kernel, the saved entry stays.
    """
    set_default(release)
    if not os.path.exists(_PIN):
        return
    newest = re.search(r"linux\s+\S*/vmlinuz-(\S+)", read_text(_CONFIGURATION, ""))
    if newest and newest.group(1) == release:
        _end_pin()


def remember():
    """What `recall` needs to undo a later `pin` exactly."""
    return os.path.exists(_PIN), default()


def recall(remembered):
    """Make the boot loader do what it did at `remember`."""
    had_pin, saved = remembered
    if default() != saved:
        run(["grub-editenv", _ENVIRONMENT, *(["set", f"saved_entry={saved}"] if saved else ["unset", "saved_entry"])])
        _flush()
    if os.path.exists(_PIN) and not had_pin:
        _end_pin()


def _end_pin():
    os.unlink(_PIN)
    run(["update-grub"], timeout=600)
    _flush()


def _flush():
    """Write GRUB's files to their final place: GRUB does not read a file system's journal, which a power cut may leave behind."""
    directory = os.open("/boot/grub", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.sync()
        with contextlib.suppress(OSError):  # a file system without such a call
            fcntl.ioctl(directory, _CHECKPOINT, struct.pack("=I", 0))
    finally:
        os.close(directory)
