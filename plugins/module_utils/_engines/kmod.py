# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The kernel module of engine ``ppp`` (files/kmod): built for a preserved kernel, loaded into the running one.

An installed module of the right version (by DKMS, or by a package of the fleet's operator) is taken as it is. Otherwise the
module is built for the two kernels of an update. DKMS would also build it for every kernel that is installed later, and make
apt fail where that fails.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile

from .._files import copy_file, read_text, write_file
from .._paths import RUNTIME
from .._run import run

NAME = "kup_ppp"
DEVICE = f"/dev/{NAME}"
#: Where its source lies on a node.
SOURCE = RUNTIME + "/kmod"

_BUILD = 600  # seconds


def headers(release):
    """Whether the headers of kernel ``release`` are installed."""
    return os.path.isdir(f"/lib/modules/{release}/build")


def installed(release):
    """Path of a module that is installed for kernel ``release`` and fits, or None."""
    header = read_text(f"{SOURCE}/kup_ppp.h", "")
    version = re.search(r'#define KUP_PPP_VERSION "(.*)"', header)
    path, found = (
        run(["modinfo", "-k", release, "-F", field, NAME], check=False).stdout.strip()
        for field in ("filename", "version")
    )
    # As long as our own source is not installed, any version may fit.
    return path if path and (not version or version.group(1) == found) else None


def packages(releases):
    """Debian packages that are missing to build the module for those kernels of ``releases`` that have none installed."""
    building = [release for release in releases if not installed(release)]
    missing = [f"linux-headers-{release}" for release in building if not headers(release)]
    return missing + (["make"] if building and not shutil.which("make") else [])


def provide(release, directory):
    """Provide the module for kernel ``release`` in ``directory``; returns whether anything was written.

    :raises KupError: the module has to be built, and the build fails.
    """
    digest = hashlib.sha256(release.encode())
    for name in sorted(os.listdir(SOURCE)):
        digest.update(f"{name}\0{read_text(f'{SOURCE}/{name}')}\0".encode())
    note = f"{directory}/{NAME}.source"
    path = installed(release)
    if path:
        digest.update(f"{path} {os.stat(path).st_mtime_ns}".encode())
    if read_text(note) == digest.hexdigest():
        return False
    if path:
        copy_file(path, f"{directory}/{NAME}.ko")
    else:
        _build(release, f"{directory}/{NAME}.ko")
    write_file(note, digest.hexdigest() + "\n")
    return True


def _build(release, path):
    with tempfile.TemporaryDirectory(prefix="kup-module-", dir="/var/tmp") as scratch:
        shutil.copytree(SOURCE, f"{scratch}/source")
        run(["make", "-C", f"{scratch}/source", f"KERNEL={release}"], timeout=_BUILD)
        copy_file(f"{scratch}/source/{NAME}.ko", path)


def load(directory):
    """Load the module in ``directory`` into the running kernel, in place of a loaded one.

    :raises KupError: the kernel refuses it, or the loaded module holds frames.
    """
    unload()
    run(["insmod", f"{directory}/{NAME}.ko"])


def unload():
    """Unload the module.

    :raises KupError: it holds frames.
    """
    if os.path.exists(DEVICE):
        run(["rmmod", NAME])
