"""Outages from single attempts."""

import pytest

from lab.load.outages import Outages


def _attempts(outages, instants, latency=0.001):
    for instant in instants:
        outages.started(instant)
        outages.answered(instant, instant + latency)


def test_no_outage_while_answers_keep_coming_however_late_each_one_is():
    outages = Outages(threshold=0.1)
    for step in range(50):
        outages.started(step * 0.02)
        if step >= 20:
            outages.answered((step - 20) * 0.02, step * 0.02)
    assert outages.result(1.0) == []


def test_outage_spans_from_the_last_answered_start_to_the_first_answer():
    outages = Outages(threshold=0.1)
    _attempts(outages, [0.00, 0.02])
    for instant in (0.04, 0.06, 0.50, 0.90):
        outages.started(instant)
    outages.failed(0.04)
    outages.answered(0.90, 1.50)
    # Known only after the outage, but belonging to it.
    outages.failed(0.06)
    _attempts(outages, [1.52])
    (outage,) = outages.result(1.53)
    assert (outage["start_monotonic"], outage["end_monotonic"]) == (0.02, 1.50)
    assert outage["seconds"] == pytest.approx(1.48)
    assert outage["attempts_failed"] == 2
    assert outage["blind_s"] == pytest.approx(0.60)


def test_outage_that_does_not_end_is_reported_open():
    outages = Outages(threshold=0.1)
    _attempts(outages, [0.0])
    outages.started(0.02)
    (outage,) = outages.result(3.0)
    assert outage["end"] is None
    assert outage["seconds"] == pytest.approx(3.0)
