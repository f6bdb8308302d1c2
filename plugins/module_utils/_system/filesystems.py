# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The file system of a directory that need not exist yet, and whether the next boot has it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from .._run import run
from .units import show

# Their contents end with the kernel, or they come with the network.
_VOLATILE = ("tmpfs", "ramfs", "overlay", "squashfs", "nfs", "nfs4", "cifs", "fuse")
_VOLATILE_DEVICES = ("/dev/ram", "/dev/zram")


def existing(path):
    """``path``, which is absolute, or its nearest parent that exists."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


@dataclass(frozen=True)
class FileSystem:
    """A mounted file system: ``place`` it is mounted on, ``source`` (mostly a device), ``kind``, e.g. ``ext4``."""

    place: str
    source: str
    kind: str


def of(path):
    """The `FileSystem` that has ``existing(path)``, or will."""
    columns = ["--noheadings", "--raw", "--output", "TARGET,SOURCE,FSTYPE"]
    # Of several file systems mounted on each other, the last is visible.
    rows = run(["findmnt", *columns, "--target", existing(path)]).stdout.strip("\n").split("\n")
    # An empty source leaves its column out.
    place, *source, kind = rows[-1].split(" ")
    return FileSystem(place, "".join(source), kind)


def why_lost(path):
    """Why a file in ``path`` would be missing when the next boot restores: the end of a sentence, empty if it would be there."""
    found = of(path)
    if found.kind in _VOLATILE or found.source.startswith(_VOLATILE_DEVICES):
        return f"on {found.kind} ({found.source}), which a kernel switch does not survive or does not have early in the boot"
    if found.place != "/" and not mounted_by_boot(found.place):
        return f"below {found.place}, which the next boot would not have: no line of /etc/fstab and no unit mounts it"
    return ""


def in_memory(path):
    """Whether ``path`` is, or would be, in memory that survives kexec but no power cut."""
    return of(path).source.startswith("/dev/pmem")


def mounted_by_boot(place):
    """Whether the next boot mounts a file system here."""
    # systemd makes a unit for any mount there is; those of the next boot come from a file.
    return bool(mount_file(place))


def mount_file(place):
    """The file of the unit that mounts a file system here; empty for none."""
    name = run(["systemd-escape", "--path", "--suffix=mount", "--", place]).stdout.strip()
    return show(name, "FragmentPath")["FragmentPath"]
