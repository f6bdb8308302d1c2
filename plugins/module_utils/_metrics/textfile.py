# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A file for the textfile collector of Prometheus' node exporter, or any other program that reads files of metrics."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from .._errors import KupError
from .._files import as_bytes

_LINKS = 40  # path_resolution(7)
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE = 0o644  # the collector has an account of its own
ENDING = ".prom"


def write(directory, name, text, variable):
    """Replace the file ``name`` in ``directory`` by ``text``: a reader sees the old content or the new, never a part.

    The directory may belong to the collector's account. So no link is followed on the way to it but those of root and of this process's
    user, and none at the file.

    :param variable: what a person has to correct.
    :raises KupError: there is no such directory, or it cannot be written.
    """
    if not os.path.isabs(directory):
        raise KupError(
            f"{variable} is {directory!r}, expected an absolute path such as '/var/lib/prometheus/node-exporter'."
        )
    try:
        descriptor = _opened(directory)
    except OSError as error:
        raise KupError(
            f"{variable} needs the directory {directory!r}, which cannot be opened ({error.strerror}); "
            f"create it, or correct {variable}."
        ) from error
    try:
        _replace(descriptor, name, as_bytes(text))
    except OSError as error:
        raise KupError(
            f"{name} cannot be written into {directory!r} ({error.strerror}); correct its mode or {variable}."
        ) from error
    finally:
        os.close(descriptor)


def age(path, now):
    """Seconds since the last change of the file; infinite where there is none."""
    try:
        return now - os.lstat(path).st_mtime
    except OSError:
        return float("inf")


def _replace(descriptor, name, content):
    # Not read by the collector: its ending is another.
    temporary = f".{name}.{os.getpid()}"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=descriptor)
    try:
        with os.fdopen(os.open(temporary, _NEW, 0o600, dir_fd=descriptor), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(stream.fileno(), _MODE)
            os.fsync(stream.fileno())
        os.rename(temporary, name, src_dir_fd=descriptor, dst_dir_fd=descriptor)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=descriptor)
        raise


def _opened(path):
    """A descriptor of the directory, opened one step after the other."""
    here, left, links = os.open("/", _DIRECTORY), path.split("/"), 0
    try:
        while left:
            step = left.pop(0)
            if step in ("", "."):
                continue
            target = _trusted_link(here, step)
            links += target is not None
            if target is None:
                here = _moved(here, step)
            elif links > _LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            else:
                left = target.split("/") + left
                here = _moved(here, "/") if target.startswith("/") else here
    except OSError:
        os.close(here)
        raise
    return here


def _moved(here, step):
    there = os.open(step, _DIRECTORY, dir_fd=here)
    os.close(here)
    return there


def _trusted_link(here, step):
    """Where the link ``step`` leads; None for what is no link, or is another user's: that one is not opened either."""
    about = os.lstat(step, dir_fd=here)
    if stat.S_ISLNK(about.st_mode) and about.st_uid in (0, os.geteuid()):
        return os.readlink(step, dir_fd=here)
    return None
