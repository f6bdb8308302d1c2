# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Settings in files: which files a node would get for its blockers, and which it has."""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass

from .._errors import KupError
from .._files import read_lines, read_text, write_file
from .._system import units
from . import settings


@dataclass(frozen=True)
class Change:
    """``after`` in place of ``before`` is the content of the file ``path``; empty: there is no such file."""

    path: str
    before: str
    after: str


@dataclass(frozen=True)
class Plan:
    """``changes``: list of `Change`; ``units``: dict unit → codes of blockers that its new start removes; ``left``: blockers, dicts, that
    no setting removes."""

    changes: list
    units: dict
    left: list


def _places(path):
    """The paths that a `Setting.path` stands for; the directories are there."""
    if "*" not in path:
        return [path]
    return [f"{directory}/{os.path.basename(path)}" for directory in sorted(glob.glob(os.path.dirname(path)))]


def _made(path):
    """The settings that the file has already. Their blockers are gone, and would come back without them."""
    lines = read_lines(path)
    return [each for each in settings.SETTINGS if each.text in lines]


def _is_ours(path):
    text = read_text(path, "")
    return re.match(rf"[#;] {settings.MARK}:", text) is not None


def present(blockers):
    """The `Plan` that removes ``blockers``, dicts as `kup_preflight` returns them.

    :raises KupError: a file of this name is there, and not ours.
    """
    chosen, expected, left = {}, {}, []
    for blocker in blockers:
        found = settings.for_blocker(blocker)
        places = _places(found.path(blocker["unit"])) if found and _is_cause(found, blocker["unit"]) else []
        if not places:
            left.append(blocker)
            continue
        expected.setdefault(blocker["unit"], []).append(blocker["code"])
        for place in places:
            chosen.setdefault(place, []).append(found)
    changes = [_change(path, settings.content(path, [*_made(path), *found])) for path, found in sorted(chosen.items())]
    codes = {unit: sorted(set(found)) for unit, found in expected.items()}
    return Plan([change for change in changes if change.before != change.after], codes, left)


def _is_cause(setting, unit):
    """Whether the unit has what the setting takes away, or did when it was started."""
    if not setting.cause or setting.text in read_lines(setting.path(unit)):
        return True
    return units.show(unit, setting.cause)[setting.cause] not in ("no", "all", "")


def absent(names):
    """The `Plan` that removes the files of the units ``names``."""
    changes, changed = [], {}
    for unit in names:
        paths = {each.path(unit) for each in settings.SETTINGS if re.fullmatch(each.unit, unit)}
        for place in sorted(place for path in paths for place in _places(path)):
            if _is_ours(place):
                changes.append(_change(place, ""))
                changed[unit] = []
    return Plan(changes, changed, [])


def _change(path, text):
    before = read_text(path)
    if before is not None and not _is_ours(path):
        raise KupError(
            f"{path} is not a file of kup_ready, expected none, or one that begins with its mark; rename it."
        )
    return Change(path, "" if before is None else before + "\n", text)


def apply(changes):
    """Write and remove the files."""
    for change in changes:
        if change.after:
            os.makedirs(os.path.dirname(change.path), mode=0o755, exist_ok=True)
            write_file(change.path, change.after, 0o644)
        else:
            os.unlink(change.path)
