# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What every balancer can be asked, and the one way to ask it.

A balancer has places, each of which sends traffic to the node, such as a server of a backend. Each is in one of three states. Only what is
`SERVING` is drained, and only what is `DRAINED` is put back: `OUT` is what somebody else has taken out of service.
"""

from __future__ import annotations

import abc
import time
from dataclasses import dataclass, field

from .._errors import KupError

SERVING, DRAINED, OUT = "serving", "drained", "out"
_PAUSE = 0.5  # seconds between two looks at the sessions


class Balancer(abc.ABC):
    """What `Visit` asks for. Names of places are the balancer's own."""

    @abc.abstractmethod
    def look(self):
        """Dict place → state.

        :raises KupError: the balancer does not answer, or knows no place of the node.
        """

    @abc.abstractmethod
    def drain(self, places):
        """Send no new traffic to ``places``, of which some may be drained. Returns when the balancer has taken it.

        :raises KupError: it has not.
        """

    @abc.abstractmethod
    def undrain(self, places):
        """Send traffic to ``places`` again, of which some may have it.

        :raises KupError: the balancer has not taken it.
        """

    def sessions(self, places):  # noqa: B027
        """How many sessions are open at ``places``; None where the balancer does not tell."""


@dataclass
class Answer:
    """``places``: dict name → state afterwards; ``before``: the same before; ``notes``: sentences for a person."""

    before: dict
    places: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)

    @property
    def changed(self):
        return self.before != self.places


class Visit:
    """One question to the balancer ``kind`` at ``host``, whose places are named ``KIND HOST PLACE`` for others.

    :param recorded: names that this collection has drained, or is about to, of any balancer.
    """

    def __init__(self, balancer, kind, host, recorded=()):
        self._balancer = balancer
        self._prefix = f"{kind} {host} "
        self._recorded = {name[len(self._prefix) :] for name in recorded if name.startswith(self._prefix)}

    def look(self):
        states = self._named(self._balancer.look())
        return Answer(states, states)

    def drain(self, wait, patient, dry=False):
        """Drain what is recorded.

        :param wait: seconds for open sessions to end.
        :param patient: whether the update goes on with sessions that are open then.
        :raises KupError: it does not.
        """
        answer, ours = self._ours()
        if ours and not dry:
            self._balancer.drain(ours)
            self._expect(ours, DRAINED)
            answer.notes += self._wait(ours, wait, patient)
        answer.places.update(self._named(dict.fromkeys(ours, DRAINED)))
        return answer

    def undrain(self, dry=False):
        """Put back what is recorded, and still as it was left."""
        answer, ours = self._ours()
        if ours and not dry:
            self._balancer.undrain(ours)
            self._expect(ours, SERVING)
        answer.places.update(self._named(dict.fromkeys(ours, SERVING)))
        return answer

    def _ours(self):
        """(answer so far, recorded places that nobody else has taken out of service since)."""
        states = self._balancer.look()
        known = sorted(self._recorded & set(states))
        before = self._named({place: states[place] for place in known})
        notes = [
            f"{self._prefix}{place} was taken out of service by others and stays so."
            for place in known
            if states[place] == OUT
        ]
        return Answer(before, dict(before), notes), [place for place in known if states[place] != OUT]

    def _expect(self, ours, wanted):
        states = self._balancer.look()
        wrong = [place for place in ours if states.get(place) != wanted]
        if wrong:
            raise KupError(
                f"{self._prefix}{wrong[0]} is {states.get(wrong[0], 'gone')} afterwards, expected {wanted}; look at the balancer."
            )

    def _wait(self, ours, wait, patient):
        deadline = time.monotonic() + wait
        while wait and (left := self._balancer.sessions(ours)):
            if time.monotonic() >= deadline:
                sentence = f"{self._prefix}{', '.join(ours)} has {left} open sessions after {wait} s (kup_drain_wait)."
                if patient:
                    return [sentence]
                raise KupError(sentence)
            time.sleep(_PAUSE)
        return []

    def _named(self, states):
        return {self._prefix + place: state for place, state in sorted(states.items())}
