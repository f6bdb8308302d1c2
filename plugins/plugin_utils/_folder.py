# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A directory on the controller for its owner's files. They are found by name in the open directory, and no symbolic link is followed."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._files import as_bytes, make_directory

_LARGEST = 256 << 20  # bytes; a report of 2,000 nodes has some 10 MB
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC


class Folder:
    """An open directory. Methods raise `OSError` where the system refuses something.

    A context manager: the end closes it.
    """

    def __init__(self, path, descriptor):
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def at(cls, path, is_made=True):
        """The directory ``path``. It is made for its owner only if ``is_made`` and it does not exist; its own link is followed."""
        if is_made and not os.path.isdir(path):
            make_directory(path)
        return cls(path, os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

    def folder(self, name, is_made=True):
        """The directory ``name`` in this one, of this user only.

        :raises KupError: another user made it.
        """
        if is_made:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=self._descriptor)
        path = f"{self.path}/{name}"
        descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | _OPEN, dir_fd=self._descriptor)
        owner = os.fstat(descriptor).st_uid
        if owner != os.geteuid():
            os.close(descriptor)
            raise KupError(f"{path} belongs to the user {owner}, expected {os.geteuid()}; move it away.")
        return Folder(path, descriptor)

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        os.close(self._descriptor)

    def names(self, ending):
        """Names of the files with this ``ending``, in order. Those of files that are being written begin with a dot, and are left out."""
        return sorted(
            name for name in os.listdir(self._descriptor) if name.endswith(ending) and not name.startswith(".")
        )

    def read(self, name):
        """(text of the file ``name``, seconds since the epoch of its last change); (None, 0.0) where it does not exist.

        :raises KupError: it is no regular file, or larger than any report.
        """
        try:
            # Without O_NONBLOCK a FIFO would keep the reader.
            descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _OPEN, dir_fd=self._descriptor)
        except FileNotFoundError:
            return None, 0.0
        with os.fdopen(descriptor, "rb") as stream:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST:
                raise KupError(f"{self.path}/{name} is no file of at most {_LARGEST >> 20} MiB; move it away.")
            return stream.read(_LARGEST).decode("utf-8", "replace"), about.st_mtime

    def write(self, name, text):
        """Replace the file ``name``, readable by its owner only: a reader, or the next boot, sees the old content or the new, never a part."""
        temporary = f".{name}.{os.getpid()}"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=self._descriptor)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN, 0o600, dir_fd=self._descriptor)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(as_bytes(text))
            stream.flush()
            os.fsync(descriptor)
        os.rename(temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        os.fsync(self._descriptor)

    def append(self, name, text):
        """Add ``text`` to the file ``name`` in one write, so that no other writer's lines are in between."""
        descriptor = os.open(
            name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | _OPEN, 0o600, dir_fd=self._descriptor
        )
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise KupError(f"{self.path}/{name} is no regular file; move it away.")
            content = as_bytes(text)
            if os.write(descriptor, content) != len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(descriptor)

    def claim(self, name):
        """Make the empty file ``name``; returns whether it was not there, which only one of several callers finds."""
        try:
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN, 0o600, dir_fd=self._descriptor))
        except FileExistsError:
            return False
        return True

    def link(self, name, target):
        """Let the symbolic link ``name`` lead to ``target``."""
        temporary = f".{name}.{os.getpid()}"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=self._descriptor)
        os.symlink(target, temporary, dir_fd=self._descriptor)
        os.rename(temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def target(self, name):
        """What the symbolic link ``name`` has; None where it is none."""
        try:
            return os.readlink(name, dir_fd=self._descriptor)
        except OSError:
            return None

    def remove(self, name):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._descriptor)

    def remove_unfinished(self):
        """Remove files that a killed writer has left."""
        for name in os.listdir(self._descriptor):
            if name.startswith("."):
                self.remove(name)

    def remove_folder(self, name):
        """Remove the directory ``name`` if it is empty."""
        with contextlib.suppress(OSError):
            os.rmdir(name, dir_fd=self._descriptor)

    @contextlib.contextmanager
    def locked(self, name):
        """Hold the lock file ``name``, which is never removed."""
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | _OPEN, 0o600, dir_fd=self._descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
