# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Blockers: what stands in the way of an update. Checks find them."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, replace

from ._errors import KupError, printable


@dataclass(frozen=True)
class Blocker:
    """One reason to refuse an update; docs/refusals.md lists the codes.

    ``unit`` and ``process`` ("name[pid]"): what is affected, empty for the whole node. ``engine``: the only engine that
    the blocker stops, empty for all. An empty ``object`` means the unit itself.
    """

    code: str
    object: str
    why: str
    help: str
    unit: str = ""
    process: str = ""
    engine: str = ""

    def sentence(self):
        """The blocker as one sentence."""
        subject = f"process {self.process} {self.object}" if self.process else self.object
        if self.unit:
            subject = f"{self.unit}: {subject}" if subject else self.unit
        if self.engine:
            subject = f"Engine {self.engine}: {subject}"
        return printable(f"{subject} {self.why}; {self.help}.")

    def as_dict(self):
        """The blocker as modules return it."""
        return {**{name: printable(text) for name, text in asdict(self).items()}, "sentence": self.sentence()}


class Blocked(KupError):
    """Blockers that nobody can work around; the text is their sentences."""

    def __init__(self, blockers):
        self.blockers = list(blockers)
        super().__init__(" ".join(sentences(self.blockers)))


def sentences(blockers):
    """The sentences of ``blockers``, in order."""
    return [blocker.sentence() for blocker in blockers]


def about(blockers, **fields):
    """``blockers`` with more ``fields`` filled in, e.g. the unit that they affect."""
    return [replace(blocker, **fields) for blocker in blockers]


def all_of(checks, *seen):
    """The blockers of all ``checks``."""
    return [blocker for each in checks for blocker in each(*seen)]


def first_of(checks, *seen):
    """The blockers of the first check that finds any: what the others say would follow from it, or repeat it."""
    return next((found for each in checks if (found := each(*seen))), [])


def check(function):
    """Decorator for a check: a generator that yields (object, why, help) for each blocker that it finds.

    The check's name, with hyphens, is the code of its blockers; the first line of its docstring is its row in
    docs/refusals.md. A check judges its arguments only and looks at nothing itself.
    """
    code = function.__name__.replace("_", "-")

    @functools.wraps(function)
    def checked(*seen):
        return [Blocker(code, *found) for found in function(*seen)]

    checked.code = code
    return checked
