# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The one exception of the library, and how its texts name what others have named."""

from __future__ import annotations


class KupError(Exception):
    """Something is wrong and nothing more was changed.

    The text is one sentence for an operator: what, which value, what was expected, what to do.
    """


class PassingError(KupError):
    """What was in the way may pass by itself: the same may work a moment later."""


class EngineError(KupError):
    """A memory engine cannot be prepared on this node; another one may."""


def printable(text):
    """``text`` that an application has chosen, for a person: what would move the cursor or break the line is escaped."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape", "replace").decode() for each in text)
