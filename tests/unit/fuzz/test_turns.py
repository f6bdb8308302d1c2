import math

import pytest

from tests.fuzz import __main__ as fuzz
from tests.fuzz import record
from tests.fuzz.targets import Target

STREAM, IMAGES = Target("paged", "stream"), Target("paged", "images")


@pytest.fixture
def taken(tmp_path, monkeypatch):
    """The targets whose turns were taken, a minute of processor time each; `images` fails the second time."""
    monkeypatch.setattr(record, "ROWS", tmp_path / "results.jsonl")
    turns = []

    def turn(target, seconds):
        turns.append(target)
        row = {"program": target.program, "target": target.name, "cpu_s": 60.0, "units": 1, "edges": 1, "failures": 0}
        return row, "crashed" if target == IMAGES and turns.count(IMAGES) == 2 else ""

    monkeypatch.setattr(fuzz, "turn", turn)
    return turns


def test_each_target_has_its_time_and_the_one_with_the_least_is_next(taken):
    assert fuzz.Turns([STREAM, IMAGES], 60, 60, math.inf).work() == []
    assert sorted(taken) == [IMAGES, STREAM]


def test_what_was_spent_before_counts(taken):
    fuzz.Turns([STREAM], 60, 60, math.inf).work()
    fuzz.Turns([STREAM, IMAGES], 60, 60, math.inf).work()

    assert taken == [STREAM, IMAGES]


def test_a_target_that_failed_has_no_further_turn_and_the_others_go_on(taken):
    assert fuzz.Turns([STREAM, IMAGES], 60, 240, math.inf).work() == ["crashed"]
    assert taken.count(IMAGES) == 2
    assert taken.count(STREAM) == 4


def test_no_turn_begins_after_the_time_is_over(taken):
    assert fuzz.Turns([STREAM], 60, 60, -math.inf).work() == []
    assert taken == []


def test_a_turn_that_was_stopped_is_no_result(taken, monkeypatch):
    monkeypatch.setattr(fuzz, "turn", lambda target, seconds: (None, ""))

    assert fuzz.Turns([STREAM], 60, 60, math.inf).work() == []
    assert record.spent() == {}
