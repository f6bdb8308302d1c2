# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The programs that nodes get. `make collection` puts them into the tarball; a collection built from the bare sources has none."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import tempfile
import zlib
from pathlib import Path

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._files import digest
from ansible_collections.kup.fleet.plugins.module_utils._paths import PROGRAMS

_TOOLS = ("make", "gcc")


def paths(files):
    """Where the programs are, each in the folder of its name, or that its name has, as its sources are: dict name → path.

    :param files: the folder files of the collection.
    """
    return {name: f"{_folder(files, name)}/{os.path.basename(name)}" for name in PROGRAMS}


def _folder(files, name):
    return f"{files}/{name.partition('/')[0]}"


def digests(files):
    """Dict name → SHA-256; empty for a program that is not there."""
    return {name: digest(path) if os.path.exists(path) else "" for name, path in paths(files).items()}


def packed(files, installed):
    """The programs whose digests are not those of ``installed``: dict name → content as a text, compressed by zlib and in Base64.

    :param installed: dict name → SHA-256, as `digests` has them.
    """
    known = digests(files)
    wanted = {name: path for name, path in paths(files).items() if known[name] != installed.get(name)}
    return {name: pack(Path(path).read_bytes()) for name, path in wanted.items()}


def pack(content):
    """``content`` (bytes) of a program as a text that an argument of the module kup_runtime can be."""
    return base64.b64encode(zlib.compress(content)).decode("ascii")


def provide(files, dry=False):
    """Build the programs that are not there.

    :param files: the folder files of the collection.
    :param dry: only say which would be built.
    :returns: the names of those that were built.
    :raises KupError: one cannot be built here.
    """
    absent = [name for name, path in paths(files).items() if not os.path.exists(path)]
    for name in absent:
        _refuse(files, name)
    for name in absent if not dry else []:
        _build(files, name)
    return absent


def _refuse(files, name):
    missing = [tool for tool in _TOOLS if not shutil.which(tool)]
    if missing:
        raise KupError(_sentence(files, name, f"this controller lacks {' and '.join(missing)} to build it"))
    folder = _folder(files, name)
    if not os.access(folder, os.W_OK):
        raise KupError(_sentence(files, name, f"{folder} cannot be written to build it there"))


def _build(files, name):
    sources = _folder(files, name)
    with tempfile.TemporaryDirectory(dir=sources) as output:
        done = subprocess.run(
            ["make", "-C", sources, f"OUT={output}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["make said nothing"]
            raise KupError(_sentence(files, name, f"its build failed ({lines[0]})"))
        os.replace(f"{output}/{os.path.basename(name)}", paths(files)[name])


def _sentence(files, name, reason):
    return (
        f"The collection has no program {name} ({paths(files)[name]}), which nodes get, and {reason}; "
        "install a tarball that 'make collection' has made."
    )
