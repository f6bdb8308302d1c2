# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Files that survive a power cut: write, fsync, rename, fsync the directory."""

from __future__ import annotations

import hashlib
import os
import shutil


def sync_directory(path):
    """Make the entries of directory ``path`` durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(path):
    """Create ``path`` with its parents, for root only (0700): what lies there holds other people's memory. The parents are for all."""
    mask = os.umask(0o022)
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    finally:
        os.umask(mask)
    os.chmod(path, 0o700)


def _durable(path, mode, fill):
    temporary = f"{path}.new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(stream.fileno(), mode)
            fill(stream)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError:
        os.unlink(temporary)  # the disk is full, say, and others need what there was
        raise
    os.rename(temporary, path)
    sync_directory(os.path.dirname(path))


def as_bytes(text):
    """``text`` as it goes to disk. Names of files may be any bytes; Python holds those that are no UTF-8 as surrogates."""
    return text.encode("utf-8", "surrogateescape")


def write_file(path, text, mode=0o600):
    """Replace ``path`` by ``text``: a reader, or the next boot, sees the old content or the new, never a part."""
    _durable(path, mode, lambda stream: stream.write(as_bytes(text)))


def write_bytes(path, content, mode=0o600):
    """As `write_file`, for bytes."""
    _durable(path, mode, lambda stream: stream.write(content))


def copy_file(source, path, mode=0o600):
    """Copy ``source`` to ``path`` with the same promise as `write_file`."""
    with open(source, "rb") as reader:
        _durable(path, mode, lambda stream: shutil.copyfileobj(reader, stream, 1 << 20))


def digest(path):
    """SHA-256 of the file ``path``, in hexadecimal."""
    found = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def read_text(path, default=None):
    """Text of a small file without its last newline, or ``default`` where it does not exist. Only ``\\n`` ends a line."""
    try:
        # Without translation: a carriage return in the name of a process or file must not begin a new line.
        with open(path, encoding="utf-8", errors="replace", newline="") as stream:
            return stream.read().rstrip("\n")
    except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
        return default


def read_lines(path):
    """The lines of a small file; none where it does not exist.

    ``str.splitlines`` would also split at form feeds, U+0085 and others, which names of files, mounts and processes may have.
    """
    text = read_text(path, "")
    return text.split("\n") if text else []


def each_line(path):
    """Yield the lines of a file that may be long, as `read_lines` has them: a process may have a million mappings."""
    try:
        with open(path, encoding="utf-8", errors="replace", newline="\n") as stream:
            for line in stream:
                yield line.rstrip("\n")
    except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
        return
