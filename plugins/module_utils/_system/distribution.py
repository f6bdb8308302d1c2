# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Which distribution a node has, as os-release(5) says."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

#: The first that is there counts.
FILES = ("/etc/os-release", "/usr/lib/os-release")
_MOST, _LONGEST = 1 << 16, 100  # characters of a file, and of a name


@dataclass(frozen=True)
class Distribution:
    """``id`` and ``version`` are what programs compare, such as ``debian`` and ``12``; ``name`` is for people. Empty where nothing says so."""

    id: str = ""
    version: str = ""
    name: str = ""


def look():
    """The `Distribution` of this node."""
    found = _parsed(next((text for text in map(_text, FILES) if text is not None), ""))
    name = found.get("PRETTY_NAME") or " ".join(found.get(key, "") for key in ("ID", "VERSION_ID"))
    return Distribution(found.get("ID", ""), found.get("VERSION_ID", ""), name.strip()[:_LONGEST])


def _text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read(_MOST)
    except OSError:
        return None


def _parsed(text):
    """Dict of the assignments, with the quotes of a shell; what is none is passed over."""
    found = {}
    for line in text.split("\n"):
        key, _equals, value = line.strip().partition("=")
        try:
            words = shlex.split(value)
        except ValueError:
            continue
        if not key.startswith("#"):
            found[key] = words[0] if words else ""
    return found
