# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pause and abort a rollout from outside: the first word of a file on the controller, or of an address."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.error import HTTPError

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _address

WORDS = ("go", "pause", "abort")
_MOST = 64  # bytes that are read
_PATIENCE = 5  # seconds for an answer
_NOT_THERE = (404, 410)  # HTTP


@dataclass(frozen=True)
class Answer:
    """``word``, one of `WORDS`, and where it comes from: a sentence without its full stop, empty for ``go``."""

    word: str
    reason: str = ""


def check(place):
    """Check kup_control: an absolute path in a directory that there is, an address, or empty.

    :raises KupError: it is none of these.
    """
    if _address.is_one(place):
        _address.check("kup_control", place, "https://example.net/rollout")
    elif place and not (os.path.isabs(place) and os.path.isdir(os.path.dirname(place))):
        raise KupError(
            f"kup_control is {place!r}, expected the absolute path of a file in a directory that exists on the controller, "
            "or an address that begins with http:// or https://."
        )


def ask(place):
    """The `Answer` of a file or address; ``go`` where there is none. What cannot be read or understood is ``pause``."""
    if not place:
        return Answer("go")
    try:
        text = _of_address(place) if _address.is_one(place) else _of_file(place)
    except _address.ERRORS as error:
        why = _address.shortened(error)
        return Answer("pause", f"{_named(place)} cannot be read ({why}), which counts as pause")
    if text is None:
        return Answer("go")
    return _understood(place, text)


def _understood(place, text):
    # A word that the end of what is read may have cut is none that is known.
    words = (text + b"x" if len(text) == _MOST else text).decode("ascii", "replace").split()
    word = words[0] if words else ""
    if word not in WORDS:
        return Answer(
            "pause", f"{_named(place)} begins with {word!r}, expected {', '.join(WORDS)}; this counts as pause"
        )
    return Answer(word, "" if word == "go" else f"{_named(place)} says {word}")


def _named(place):
    # A query may have a token.
    return f"kup_control ({place.partition('?')[0]})"


def _of_file(path):
    """The first bytes; None if there is no such file in its directory."""
    try:
        # A FIFO without a writer must not keep the rollout.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        # Without the directory the file system may be missing, and with it the file.
        if os.path.isdir(os.path.dirname(path)):
            return None
        raise
    try:
        return os.read(descriptor, _MOST)
    finally:
        os.close(descriptor)


def _of_address(place):
    try:
        return _address.read(place, _MOST, _PATIENCE)
    except HTTPError as error:
        error.close()
        if error.code in _NOT_THERE:
            return None
        raise


def outlook(place):
    """What it says now: dict with ``place``, ``word`` and ``reason``."""
    answer = ask(place)
    return {"place": place, "word": answer.word, "reason": answer.reason}


def line(about):
    """An `outlook` for a person; empty where there is nothing to ask."""
    return f"control: {about['reason'] or _named(about['place']) + ' says go'}" if about["place"] else ""
