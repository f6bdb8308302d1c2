# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What this collection has drained for a node: a file on the node, so that the next run can put it back.

It is written before a balancer is asked, so a run that is killed in between leaves no node that nobody knows to be drained. The names in it
mean something only together with the rollout's own variables: a node cannot name a place that is not its own.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from .._errors import KupError
from .._files import make_directory, read_text, write_file
from .._paths import DRAINED, STATE

_MOST = 64 << 10  # bytes
_LONGEST = 500  # characters of a name


@dataclass(frozen=True)
class Drained:
    """``places``: sorted names, ``BALANCER HOST PLACE`` each; ``left``: the result for which a run left them drained, or empty."""

    places: tuple = ()
    left: str = ""


def load():
    """:raises KupError: the file is none that `save` has written."""
    if not os.path.exists(DRAINED):
        return Drained()
    try:
        if os.path.getsize(DRAINED) > _MOST:
            raise ValueError("it is too long")
        return _checked(json.loads(read_text(DRAINED, "{}")))
    except (ValueError, OSError) as error:
        raise KupError(
            f"{DRAINED} does not say what is drained: {error}; look at the balancers and remove it."
        ) from error


def _checked(found):
    places, left = (found.get("places"), found.get("left")) if isinstance(found, dict) else (None, None)
    for text in [*places, left] if isinstance(places, list) else [None]:
        if not isinstance(text, str) or len(text) > _LONGEST or not text.isprintable():
            raise ValueError("it has what is no name")
    return Drained(tuple(sorted(places)), left)


def save(drained):
    """Replace the file; without a place, remove it."""
    if drained.places:
        make_directory(STATE)
        write_file(DRAINED, json.dumps({"places": list(drained.places), "left": drained.left}) + "\n")
    elif os.path.exists(DRAINED):
        os.unlink(DRAINED)
