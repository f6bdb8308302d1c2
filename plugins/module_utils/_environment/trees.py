# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Trees of files that are copied into a boot plan: how they are read, and the steps that make them anew.

Applications choose the names and may change a tree at any time: nothing is opened by a path through their directories.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from .._errors import KupError
from . import plan

_XATTRS = ("user.", "trusted.", "system.posix_acl_", "security.capability")
# Each level takes a descriptor.
_LEVELS_MAX = 100


@dataclass(frozen=True)
class Object:
    """A directory, file, FIFO or symbolic link: its ``path``, ``status``, extended ``attributes`` (list of pairs) and ``content``
    (bytes, of a file; the target, of a link); or only another name of the object at the path ``same_as``."""

    path: str
    status: os.stat_result
    attributes: tuple = ()
    content: bytes = b""
    same_as: str = ""


def walk(top):
    """Yield (path, status, descriptor of its directory) for an object and all below it, a directory before what is in it.

    Nobody but root may be able to move what ``top`` is in.
    """
    above = os.open(os.path.dirname(top), os.O_PATH | os.O_DIRECTORY)
    try:
        yield from _walk_in(above, os.path.basename(top), top)
    finally:
        os.close(above)


def walk_below(directory, path, without=()):
    """The same for all that is in an open directory, which is named ``path``, but for these paths."""
    if path.count("/") > _LEVELS_MAX:
        raise KupError(
            f"{path} is deeper than {_LEVELS_MAX} directories, expected fewer; remove what the unit does not need."
        )
    for child in sorted(os.listdir(directory)):
        if f"{path}/{child}" not in without:
            yield from _walk_in(directory, child, f"{path}/{child}", without)


def _walk_in(parent, name, path, without=()):
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except OSError:  # removed since it was listed
        return
    if stat.S_ISSOCK(status.st_mode) or status.st_dev != os.fstat(parent).st_dev:
        return
    yield path, status, parent
    if stat.S_ISDIR(status.st_mode):
        try:
            directory = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        except OSError:
            return
        try:
            yield from walk_below(directory, path, without)
        finally:
            os.close(directory)


def objects(walked, size_max):
    """Yield an `Object` for what `walk` yields, with at most ``size_max`` bytes of content and one more."""
    names = {}
    for path, status, parent in walked:
        name, mode = os.path.basename(path), status.st_mode
        if status.st_nlink > 1 and not stat.S_ISDIR(mode):
            first = names.setdefault((status.st_dev, status.st_ino), path)
            if first != path:
                yield Object(path, status, same_as=first)
                continue
        if stat.S_ISLNK(mode):
            yield Object(path, status, content=os.fsencode(os.readlink(name, dir_fd=parent)))
        elif stat.S_ISFIFO(mode):
            yield Object(path, status)
        elif stat.S_ISDIR(mode) or stat.S_ISREG(mode):
            found = _opened(path, name, parent, size_max)
            if found:
                yield found


def of_directory(descriptor, path):
    """The `Object` of an open directory."""
    return Object(path, os.fstat(descriptor), _attributes(descriptor))


def _opened(path, name, parent, size_max):
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=parent)
    except OSError:
        return None
    try:
        status, content = os.fstat(descriptor), b""
        if stat.S_ISREG(status.st_mode):
            with os.fdopen(os.dup(descriptor), "rb") as stream:
                content = stream.read(size_max + 1)
        return Object(path, status, _attributes(descriptor), content)
    finally:
        os.close(descriptor)


def _attributes(descriptor):
    names = [each for each in os.listxattr(descriptor) if each.startswith(_XATTRS)]
    return tuple((each, os.getxattr(descriptor, each)) for each in names)


def rights(status):
    """Mode, owner and group as the words of a step."""
    return f"{stat.S_IMODE(status.st_mode):o}", status.st_uid, status.st_gid


def steps(found, unit, required, plans):
    """The steps that make an `Object` anew; its content goes to the `Plans`."""
    status, path = found.status, found.path
    if found.same_as:
        return [plan.step("hardlink", unit, (path, found.same_as), required)]
    if stat.S_ISLNK(status.st_mode):
        words = ("symlink", (path, status.st_uid, status.st_gid, found.content))
    elif stat.S_ISFIFO(status.st_mode):
        words = ("fifo", (path, *rights(status)))
    elif stat.S_ISDIR(status.st_mode):
        words = ("directory", (path, *rights(status)))
    else:
        seconds, nanoseconds = divmod(max(status.st_mtime_ns, 0), 10**9)
        words = ("file", (path, *rights(status), seconds, nanoseconds, plans.add_content(found.content)))
    return [plan.step(words[0], unit, words[1], required), *attribute_steps(found, unit)]


def attribute_steps(found, unit):
    """The steps that give an `Object` its extended attributes."""
    return [plan.step("xattr", unit, (found.path, *pair)) for pair in found.attributes]
