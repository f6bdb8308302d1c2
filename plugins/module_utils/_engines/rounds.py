# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The rounds of copying while the application serves and writes, and the decision for another one."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass

# A round that takes more than this share of the one before has shown that the application writes as fast as it is copied.
_SHRINKS = 0.8
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Round:
    """One round: ``began`` (time.monotonic), ``seconds`` it took, ``pages`` copied, ``frozen_s`` within it (or None)."""

    began: float
    seconds: float
    pages: int
    frozen_s: float | None

    def as_dict(self):
        """For the report."""
        return {key: value for key, value in asdict(self).items() if key != "began"}


def pace(rounds):
    """Bytes that the first round, the one with all of the memory, wrote in a second; 0 before it."""
    first = rounds[0] if rounds else None
    return first.pages * _PAGE / first.seconds if first and first.seconds else 0


def expected_freeze(rounds, now):
    """Seconds that a dump which begins ``now`` would take; None before the second round.

    What is dirty grows with the time since the last round began, as fast as it did before that round, and is written as
    fast as in it.
    """
    if len(rounds) < 2:
        return None
    before, last = rounds[-2:]
    return last.seconds * (now - last.began) / (last.began - before.began)


def enough(rounds, target, now):
    """Whether the freeze may come: it is expected to be as short as ``target`` (seconds), or gets no shorter."""
    expected = expected_freeze(rounds, now)
    if expected is None:
        return False
    return expected <= target or rounds[-1].seconds > rounds[-2].seconds * _SHRINKS
