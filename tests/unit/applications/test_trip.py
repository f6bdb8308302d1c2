"""What the result of an application is."""

import os
import sys

import pytest

from tests.applications import look, trip
from tests.cases.update import Outcome

GOOD, BACK = Outcome("committed"), Outcome("fell_back", "redis was not restored")


@pytest.mark.parametrize(
    ("outcome", "fresh", "gone", "differences", "expected"),
    [
        (GOOD, [], [], [], ("right", "")),
        (GOOD, [], [], ["a key is gone"], ("wrong", "a key is gone")),
        (GOOD, [], [], None, ("lost", "an open connection was lost")),
        (GOOD, [], ["nginx (7)"], [], ("lost", "gone: nginx (7)")),
        (BACK, [], [], [], ("wrong", "the update ended as fell_back: redis was not restored")),
        (
            BACK, ["redis-server.service"], [], ["a key is gone"],
            ("lost", "redis-server.service started fresh; a key is gone; redis was not restored"),
        ),
    ],
)  # fmt: skip
def test_a_result_says_what_is_not_as_it_was(outcome, fresh, gone, differences, expected):
    assert trip.result("committed", outcome, fresh, gone, differences) == expected


def test_what_is_lost_and_what_is_wrong_is_counted():
    assert trip.counts([], [], []) == {"lost": 0, "wrong": 0}
    assert trip.counts(["a.service"], ["nginx (7)", "nginx (8)"], None) == {"lost": 4, "wrong": 0}
    assert trip.counts([], [], ["a key is gone"]) == {"lost": 0, "wrong": 1}


def test_a_way_back_by_the_gate_is_good_where_it_is_wanted():
    assert trip.result("fell_back", Outcome("fell_back", "the gate failed"), [], [], []) == ("right", "")


def test_each_step_of_a_way_has_a_good_end():
    assert {step for steps in trip.WAYS.values() for step in steps} == set(trip.GOOD)


def test_what_is_seen_of_processes_is_compared():
    seen = {"Name": ["nginx"], "nice": "0"}
    before = {"7": seen, "8": seen, "9": seen}
    after = {"7": {**seen, "nice": "5"}, "8": {**seen, "Name": ["other"]}, "10": seen}
    assert trip.compare(before, after, "") == (["nginx (8)", "nginx (9)"], ["nginx (7): nice is '5', was '0'"])
    assert trip.compare(before, after, r"\(9\)|nice") == (["nginx (8)"], [])


def test_this_process_can_be_seen():
    found = look.seen(os.getpid())
    assert found["parent"] == str(os.getppid()) and found["nice"] == str(os.nice(0))
    assert found["fd 0"] and found["CapEff"] and found["exe"] == os.path.realpath(sys.executable)
