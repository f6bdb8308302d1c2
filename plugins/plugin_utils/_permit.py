# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Whether a node may begin: it may, it may not, or it waits for that."""

from __future__ import annotations

from dataclasses import dataclass

PACE = 3  # seconds between two questions
_REMIND = 300  # seconds after which a node that waits says so again


@dataclass(frozen=True)
class State:
    """``verdict``: "go", "wait" or "stop", and why: a sentence without its full stop, empty for "go"."""

    verdict: str
    reason: str = ""


GO = State("go")


@dataclass(frozen=True)
class Permit:
    """``reason`` why the node may not begin, empty if it may; ``waited``: seconds for that; ``at``: when it was found."""

    reason: str
    waited: float
    at: float

    def times(self, earlier):
        """This time after those of ``earlier`` permits of the node, which are as much later as it has waited: waiting is no work."""
        return [*(moment + self.waited for moment in earlier), self.at]


def wait(ask, clock, sleep, say):
    """Ask until the node need not wait, and return the `Permit`.

    :param ask: function of the time that returns a list of `State`; the first one that stops counts, else the first one that waits.
    :param clock: function that returns the time in seconds; ``sleep``: one that lets seconds pass.
    :param say: function that shows a text to a person.
    """
    began, told, told_at = clock(), "", 0.0
    while True:
        now = clock()
        states = ask(now)
        stops = [state.reason for state in states if state.verdict == "stop"]
        waits = [state.reason for state in states if state.verdict == "wait"]
        if stops or not waits:
            return Permit(_whole(stops, told), now - began if told else 0.0, now)
        if waits[0] != told or now - told_at >= _REMIND:
            told, told_at = waits[0], now
            say(told)
        sleep(PACE)


def _whole(stops, told):
    if not stops:
        return ""
    return f"{stops[0]}; the node had waited, because {told}" if told and told not in stops[0] else stops[0]
