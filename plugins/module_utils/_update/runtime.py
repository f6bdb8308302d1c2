# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The copy of this library and of files/node on the node itself."""

from __future__ import annotations

import base64
import binascii
import os
import shutil
import stat
import zlib

from .._criu import program
from .._engines import kmod
from .._errors import KupError
from .._files import as_bytes, digest, write_bytes
from .._paths import GENERATOR, PROGRAMS, RUNTIME
from . import record

_PACKAGE = RUNTIME + "/kup"
# Of files/node; systemd looks for it elsewhere.
_GENERATOR = "boot/generator"
# A template, of which this node gets a script for each program.
_FROM_INSIDE = "switch/from-inside.in"


def layout(library, node, kernel_module):
    """Where everything goes: dict path → text.

    :param library: the library's files, dict path in it → text.
    :param node: the files of files/node, dict path in it → text.
    :param kernel_module: the source in files/kmod and what it needs, dict name → text.
    """
    wanted = {f"{_PACKAGE}/{name}": text for name, text in library.items()}
    wanted.setdefault(f"{_PACKAGE}/__init__.py", "")
    wanted.update({f"{RUNTIME}/{name}": text for name, text in node.items() if name not in (_GENERATOR, _FROM_INSIDE)})
    wanted.update(program.scripts(node[_FROM_INSIDE]))
    wanted.update({f"{kmod.SOURCE}/{name}": text for name, text in kernel_module.items()})
    wanted[GENERATOR] = node[_GENERATOR]
    return wanted


def install(wanted, packed=None, dry=False):
    """Make the node have ``wanted`` and nothing else; returns the paths that had to be changed.

    :param packed: the programs that the node has not got as they should be, dict name → its content, compressed by zlib and in Base64.
    :param dry: only say which.
    :raises KupError: all of it is to go while an update is under way, or a program has been damaged on its way.
    """
    if not wanted and record.load().unfinished:
        raise KupError(
            "An update is under way on this node; finish it, or undo it with 'ansible-playbook kup.fleet.kup_fallback', before this."
        )
    contents = {path: (as_bytes(text), _mode(text)) for path, text in wanted.items() if not _same(path, text)}
    contents |= {f"{RUNTIME}/{name}": (_unpack(name, text), 0o755) for name, text in (packed or {}).items()}
    kept = {*wanted, *(f"{RUNTIME}/{name}" for name in PROGRAMS)} if wanted else set()
    stale = [path for path in _present() if path not in kept]
    if not dry:
        _write(contents)
        _remove(stale, kept)
    return sorted([*contents, *stale])


def _write(contents):
    for directory in {os.path.dirname(path) for path in contents}:
        os.makedirs(directory, mode=0o755, exist_ok=True)
    for path, (content, mode) in contents.items():
        write_bytes(path, content, mode)


def _remove(stale, kept):
    for path in stale:
        os.unlink(path)
    _remove_empty_directories(kept)


def _unpack(name, text):
    if name not in PROGRAMS:
        raise KupError(
            f"The node got a program {name!r}, expected one of {', '.join(PROGRAMS)}; this is an error of the collection."
        )
    try:
        return zlib.decompress(base64.b64decode(text, validate=True))
    except (binascii.Error, zlib.error) as error:
        raise KupError(f"The program {name} came to the node damaged ({error}); run the playbook again.") from None


def programs():
    """Dict name → SHA-256 of each of `PROGRAMS` as it is installed; empty for one that is not there, or not root's alone to change."""
    return {name: _program(f"{RUNTIME}/{name}") for name in PROGRAMS}


def _program(path):
    try:
        about = os.lstat(path)
    except FileNotFoundError:
        return ""
    # Whoever runs this is root.
    is_ours = (about.st_mode, about.st_uid, about.st_gid) == (stat.S_IFREG | 0o755, os.geteuid(), os.getegid())
    return digest(path) if is_ours else ""


def _remove_empty_directories(kept):
    """Remove directories below (and with) the runtime's without a file that is kept; Python's cache goes with the directory above it."""
    for directory, _directories, _names in os.walk(RUNTIME, topdown=False):
        is_cache = os.path.basename(directory) == "__pycache__"
        if not is_cache and not any(path.startswith(f"{directory}/") for path in kept):
            shutil.rmtree(directory)


def _mode(text):
    return 0o755 if text.startswith("#!") else 0o644


def _same(path, text):
    return os.path.exists(path) and os.stat(path).st_mode & 0o777 == _mode(text) and _raw(path) == text


def _raw(path):
    with open(path, encoding="utf-8", errors="replace", newline="") as stream:
        return stream.read()


def _present():
    found = [GENERATOR] if os.path.exists(GENERATOR) else []
    for directory, _directories, names in os.walk(RUNTIME):
        if os.path.basename(directory) != "__pycache__":
            found += [os.path.join(directory, name) for name in names]
    return found
