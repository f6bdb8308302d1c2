# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Can a kernel mount its root file system by itself, without an initramfs?"""

from __future__ import annotations

import glob
import os

from .._files import read_text
from .._run import run
from .._system import drivers


def bare_root(release):
    """PARTUUID of the root partition if ``release`` has all drivers for it built in, else None."""
    root = _plain_root()
    # Where a driver's module is built in, sysfs shows no link for it; what the *other* kernel does, its list tells.
    if root is None or not needed_modules() <= _built_in(release):
        return None
    return run(["blkid", "--match-tag", "PARTUUID", "--output", "value", root[0]]).stdout.strip() or None


def needed_modules():
    """Names of the modules that a kernel needs to mount this node's root file system, built in or not.

    :returns: set of names; None where more than modules is needed (LVM, encryption, RAID, network).
    """
    root = _plain_root()
    return None if root is None else drivers.chain(root[2]) | {root[1]}


def _plain_root():
    """(device, file system, path in sysfs) of a root on a partition of a plain disk, else None."""
    # Only an initramfs mounts a /usr of its own before the first program is started.
    if _has_own_usr():
        return None
    # A subvolume of btrfs is no part of the device's name.
    source = run(["findmnt", "--noheadings", "--nofsroot", "--output", "SOURCE,FSTYPE", "/"]).stdout.split()
    if len(source) != 2 or not source[0].startswith("/dev/"):
        return None
    status = os.stat(source[0])
    device = os.path.realpath(f"/sys/dev/block/{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}")
    if "/virtual/" in device or not os.path.exists(f"{device}/partition") or _has_others(os.path.basename(device)):
        return None
    return source[0], source[1], device


def _has_own_usr():
    return os.stat("/usr").st_dev != os.stat("/").st_dev


def _has_others(name):
    """Whether the block device is one of several of a file system: btrfs has to be told of the others first."""
    return any(len(os.listdir(os.path.dirname(path))) > 1 for path in glob.glob(f"/sys/fs/btrfs/*/devices/{name}"))


def _built_in(release):
    lines = read_text(f"/lib/modules/{release}/modules.builtin", "").splitlines()
    return {os.path.basename(line)[: -len(".ko")].replace("-", "_") for line in lines}
