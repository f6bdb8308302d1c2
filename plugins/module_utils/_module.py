# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The kernel module of engine ``ppp`` (files/kmod): built for a staged kernel, loaded into the running one.

Not by DKMS, which would build it for every kernel that is ever installed, and make apt fail where that fails; who
wants that has files/kmod/dkms.conf.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile

from ._files import copy_file, read_text, write_file
from ._paths import RUNTIME
from ._run import run

NAME = "kup_ppp"
DEVICE = f"/dev/{NAME}"
#: Where its source lies on a node.
SOURCE = RUNTIME + "/kmod"

_BUILD = 600  # seconds


def headers(release):
    """Whether the headers of kernel ``release`` are installed."""
    return os.path.isdir(f"/lib/modules/{release}/build")


def packages(releases):
    """Debian packages that a build for the kernels ``releases`` lacks."""
    missing = [f"linux-headers-{release}" for release in releases if not headers(release)]
    return missing + ([] if shutil.which("make") else ["make"])


def build(release, directory):
    """Build the module for kernel ``release`` into ``directory``, where it is not there yet; returns whether it was built.

    :raises KupError: it cannot be built.
    """
    digest = hashlib.sha256(release.encode())
    for name in sorted(os.listdir(SOURCE)):
        digest.update(f"{name}\0{read_text(f'{SOURCE}/{name}')}\0".encode())
    note = f"{directory}/{NAME}.source"
    if read_text(note) == digest.hexdigest():
        return False
    with tempfile.TemporaryDirectory(prefix="kup-module-", dir="/var/tmp") as scratch:
        shutil.copytree(SOURCE, f"{scratch}/source")
        run(["make", "-C", f"{scratch}/source", f"KERNEL={release}"], timeout=_BUILD)
        copy_file(f"{scratch}/source/{NAME}.ko", f"{directory}/{NAME}.ko")
    write_file(note, digest.hexdigest() + "\n")
    return True


def load(directory):
    """Load the running kernel's module, as it is in ``directory``, in place of one that may be there.

    :raises KupError: the kernel refuses it, or the one that is there holds memory.
    """
    unload()
    run(["insmod", f"{directory}/{NAME}.ko"])


def unload():
    """Unload the module.

    :raises KupError: it holds memory.
    """
    if os.path.exists(DEVICE):
        run(["rmmod", NAME])
