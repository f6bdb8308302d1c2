# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The copy of this library and of files/node on the node itself."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import os
import shutil
import stat
import zlib

from .._criu import program
from .._engines import kmod
from .._errors import KupError
from .._files import as_bytes, digest, read_text, write_bytes, write_file
from .._paths import GENERATOR, PROGRAMS, RUNTIME
from . import record

_PACKAGE = RUNTIME + "/kup"
# Of files/node; systemd looks for it elsewhere.
_GENERATOR = "boot/generator"
# A template, of which this node gets a script for each program.
_FROM_INSIDE = "switch/from-inside.in"
# What was sent, and what all files came to: "DIGEST DIGEST". Of the second one the controller knows nothing, because scripts are the node's own.
_STAMP = "digests"


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


def install(wanted, packed=None, dry=False, sent=""):
    """Make the node have ``wanted`` and nothing else; returns the paths that had to be changed.

    :param packed: the programs that the node has not got as they should be, dict name → its content, compressed by zlib and in Base64.
    :param dry: only say which.
    :param sent: what `found` says from then on, as long as nobody changes a file; without blanks.
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
        if wanted:
            write_file(f"{RUNTIME}/{_STAMP}", f"{sent} {_sum()}\n", 0o644)
    return sorted([*contents, *stale])


def _write(contents):
    for directory in {os.path.dirname(path) for path in contents}:
        os.makedirs(directory, mode=0o755, exist_ok=True)
    for path, (content, mode) in contents.items():
        write_bytes(path, content, mode)


def _remove(stale, kept):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{RUNTIME}/{_STAMP}")
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


def installed():
    """What the node has, as dict: ``programs`` (see `programs`), ``runtime`` (see `found`)."""
    return {"programs": programs(), "runtime": found()}


def programs():
    """Dict name → SHA-256 of each of `PROGRAMS` as it is installed; empty for one that is not there, or not root's alone to change."""
    return {name: _program(f"{RUNTIME}/{name}") for name in PROGRAMS}


def _program(path):
    return digest(path) if _is_ours(path, 0o755) else ""


def _is_ours(path, mode):
    try:
        about = os.lstat(path)
    except FileNotFoundError:
        return False
    # Whoever runs this is root. The group may be that of the directory (Debian's "staff"), and writes nothing.
    return (about.st_mode, about.st_uid) == (stat.S_IFREG | mode, os.geteuid())


def found():
    """What was sent with the files that are here, as `install` was told; empty where one is missing, is another, or is not root's alone."""
    sent, _blank, files = read_text(f"{RUNTIME}/{_STAMP}", "").partition(" ")
    return sent if files and files == _sum() else ""


def _sum():
    """SHA-256 of all files: their paths, modes, owners and contents."""
    whole = hashlib.sha256()
    for path in sorted(_present()):
        about = os.lstat(path)
        content = digest(path) if stat.S_ISREG(about.st_mode) else "no file"
        whole.update(
            f"{path}\0{about.st_mode:o} {about.st_uid} {about.st_gid} {content}\n".encode("utf-8", "surrogateescape")
        )
    return whole.hexdigest()


def _remove_empty_directories(kept):
    """Remove directories below (and with) the runtime's without a file that is kept; Python's cache goes with the directory above it."""
    for directory, _directories, _names in os.walk(RUNTIME, topdown=False):
        is_cache = os.path.basename(directory) == "__pycache__"
        if not is_cache and not any(path.startswith(f"{directory}/") for path in kept):
            shutil.rmtree(directory)


def _mode(text):
    return 0o755 if text.startswith("#!") else 0o644


def _same(path, text):
    return _is_ours(path, _mode(text)) and _raw(path) == text


def _raw(path):
    with open(path, encoding="utf-8", errors="replace", newline="") as stream:
        return stream.read()


def _present():
    present = [GENERATOR] if os.path.exists(GENERATOR) else []
    for directory, _directories, names in os.walk(RUNTIME):
        if os.path.basename(directory) != "__pycache__":
            present += [os.path.join(directory, name) for name in names]
    return [path for path in present if path != f"{RUNTIME}/{_STAMP}"]
