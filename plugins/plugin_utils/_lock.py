# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""One rollout at a time: a lock in a directory that outlives the runs and may be shared by controllers.

The lock is the file ``kup.lock.N`` with the greatest N. It is held unless it says that it was released, or is older than its TTL. Whoever
takes it makes the file N + 1 with link(2), which succeeds for one only, also on NFS, and holds the lock if there is no greater one. Numbers are
never used again: who has looked long ago and links late, finds a greater one, and has not got it.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from dataclasses import asdict, dataclass

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._files import sync_directory

_NAME = re.compile(r"kup\.lock\.([1-9]\d{0,8})", re.ASCII)
_MOST = 4096  # bytes of a lock file
_TIMES = ("since", "renewed", "ttl")
_TRIES = 20  # times that another may be quicker


@dataclass(frozen=True)
class Lock:
    """``owner``, such as "me@controller, job 7"; ``run_id``; ``since`` and ``renewed``, seconds since the epoch; ``ttl``, seconds; ``released``."""

    owner: str
    run_id: str
    since: float
    renewed: float
    ttl: float
    released: bool = False

    def is_held(self, now):
        return not self.released and now < self.renewed + self.ttl

    def text(self, now):
        """For a sentence."""
        return f"{self.owner}, run {self.run_id}, since {_minutes(now - self.since)}, renewed {_minutes(now - self.renewed)} ago"


def _minutes(seconds):
    return f"{round(seconds / 60)} min"


def take(directory, mine, now):
    """Take the lock for the run of ``mine`` (a `Lock`), or renew it.

    :returns: the `Lock` that had expired, or None.
    :raises KupError: another run has it, or the directory cannot be used.
    """
    with _using(directory):
        for _try in range(_TRIES):
            number, found = _newest(directory)
            if found and found.run_id == mine.run_id and not found.released:
                trouble = renew(directory, mine.run_id, now)
                if trouble:
                    raise KupError(f"{trouble}.")
                return None
            if found and found.is_held(now):
                raise KupError(_held(directory, number, found, now))
            if _linked(directory, number + 1, mine):
                return found if found and not found.released else None
    raise KupError(f"kup_lock ({directory}) changes all the time; others take it.")


def look(directory, now):
    """The `Lock` that is held now, or None.

    :raises KupError: the directory cannot be read, or a lock in it.
    """
    with _using(directory):
        found = _newest(directory)[1]
    return found if found and found.is_held(now) else None


def renew(directory, run_id, now):
    """Let the lock of a run last from ``now`` on; returns why it cannot: a sentence without its full stop, or empty.

    :raises KupError: the directory cannot be used, which says nothing about the lock.
    """
    return _changed(directory, run_id, {"renewed": now})


def release(directory, run_id):
    """Give the lock of a run back; returns and raises as `renew`."""
    return _changed(directory, run_id, {"released": True})


def _changed(directory, run_id, changes):
    with _using(directory):
        number, found = _newest(directory)
        if found and found.run_id == run_id and not found.released:
            with _written(directory, Lock(**{**asdict(found), **changes})) as temporary:
                os.rename(temporary, _path(directory, number))
            sync_directory(directory)
            # Who saw it expired a moment ago has it now.
            newest, found = _newest(directory)
            if newest == number:
                return ""
    other = f", but of {found.owner}, run {found.run_id}" if found else ""
    return f"kup_lock ({directory}) is no longer of this run{other}"


def _held(directory, number, lock, now):
    return (
        f"kup_lock ({directory}) is held by {lock.text(now)}; wait for its end, or remove {_path(directory, number)} if that run is dead. "
        f"It expires in {_minutes(lock.renewed + lock.ttl - now)}."
    )


def _path(directory, number):
    return f"{directory}/kup.lock.{number}"


def _numbers(directory):
    found = [_NAME.fullmatch(name) for name in os.listdir(directory)]
    return [int(each[1]) for each in found if each]


def _number_of(directory):
    """The greatest number, 0 if there is none."""
    return max(_numbers(directory), default=0)


def _newest(directory):
    """(the greatest number, its `Lock`), (0, None) where there is none."""
    for _try in range(_TRIES):
        number = _number_of(directory)
        if not number:
            return 0, None
        # It may be gone by now, if there is a greater one.
        with contextlib.suppress(FileNotFoundError):
            return number, _read(_path(directory, number))
    raise FileNotFoundError(f"{_path(directory, number)} is listed and not there")


def _read(path):
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        text = os.read(descriptor, _MOST + 1)
    finally:
        os.close(descriptor)
    try:
        known = json.loads(text) if len(text) <= _MOST else None
        words = {name: _word(known[name]) for name in ("owner", "run_id")}
        return Lock(**words, **{name: _number(known[name]) for name in _TIMES}, released=known["released"] is True)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise KupError(f"{path} is no lock of a rollout; if none is under way, remove it.") from error


def _word(text):
    """A text of the lock for a message: printable and short."""
    if not isinstance(text, str):
        raise TypeError(text)
    return "".join(char for char in text if char.isprintable())[:120]


def _number(value):
    if not math.isfinite(float(value)):
        raise ValueError(value)
    return float(value)


def _linked(directory, number, lock):
    """Whether this run has made the lock file ``number``, and there is no greater one."""
    path = _path(directory, number)
    with _written(directory, lock) as temporary:
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
        # The answer of a server may get lost, and then the second try finds the file: the number of links does not lie.
        if os.stat(temporary).st_nlink != 2:
            return False
    sync_directory(directory)
    if _number_of(directory) != number:
        _remove(path)
        return False
    for each in _numbers(directory):
        if each < number:
            _remove(_path(directory, each))
    return True


def _remove(path):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


@contextlib.contextmanager
def _written(directory, lock):
    """A durable file of its own with the lock; it is removed if it still has this name in the end."""
    temporary = f"{directory}/.kup.lock-{lock.run_id}-{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(asdict(lock), stream)
            stream.flush()
            os.fsync(stream.fileno())
        yield temporary
    finally:
        _remove(temporary)


@contextlib.contextmanager
def _using(directory):
    try:
        yield
    except OSError as error:
        raise KupError(f"kup_lock ({directory}) cannot be used: {error}.") from error
