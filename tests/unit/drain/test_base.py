"""What is done with a balancer's places, whatever balancer it is."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._drain import base
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError

NAME = "kind lb place"


class Balancer(base.Balancer):
    """``place`` is in a state; ``deaf``: it takes what it is told, and does nothing; ``open``: sessions at each look."""

    def __init__(self, state=base.SERVING, deaf=False, open_sessions=()):
        self.states, self.deaf, self.open = {"place": state, "another": base.DRAINED}, deaf, list(open_sessions)

    def look(self):
        return dict(self.states)

    def drain(self, places):
        self._set(places, base.DRAINED)

    def undrain(self, places):
        self._set(places, base.SERVING)

    def sessions(self, places):
        return self.open.pop(0)

    def _set(self, places, state):
        self.states.update({} if self.deaf else dict.fromkeys(places, state))


def visit(balancer):
    return base.Visit(balancer, "kind", "lb", [NAME])


@pytest.fixture
def clock(monkeypatch):
    """Half a second passes with each look."""
    times = iter(range(1000))
    monkeypatch.setattr(base.time, "monotonic", lambda: next(times) / 2)
    monkeypatch.setattr(base.time, "sleep", lambda seconds: None)


def test_a_balancer_that_does_nothing_fails_the_drain():
    with pytest.raises(KupError, match="kind lb place is serving afterwards, expected drained"):
        visit(Balancer(deaf=True)).drain(0, True)
    with pytest.raises(KupError, match="kind lb place is drained afterwards, expected serving"):
        visit(Balancer(base.DRAINED, deaf=True)).undrain()


def test_what_is_not_recorded_stays_drained():
    balancer = Balancer(base.DRAINED)
    assert visit(balancer).undrain().places == {NAME: base.SERVING}
    assert balancer.states["another"] == base.DRAINED


def test_open_sessions_are_waited_for(clock):
    balancer = Balancer(open_sessions=[2, 1, 0])
    assert visit(balancer).drain(60, False).notes == []
    assert balancer.open == []


def test_without_a_time_nobody_is_asked_for_sessions():
    assert visit(Balancer()).drain(0, False).notes == []


@pytest.mark.parametrize("patient", [True, False])
def test_sessions_that_stay_open(clock, patient):
    balancer = Balancer(open_sessions=[3] * 100)
    sentence = "kind lb place has 3 open sessions after 2 s (kup_drain_wait)."
    if patient:
        assert visit(balancer).drain(2, True).notes == [sentence]
    else:
        with pytest.raises(KupError) as error:
            visit(balancer).drain(2, False)
        assert str(error.value) == sentence
