"""Which cases a slice runs, and which results a case may have."""

import random
from types import SimpleNamespace

import pytest

from tests.cases import choose


def case(name, **more):
    return SimpleNamespace(**{"name": name, "REFUSAL": "", "PACKAGES": (), "ALONE": False, **more})


ONE, TWO, THREE = case("one"), case("two"), case("three", PACKAGES=("apparmor",))
LONELY = case("lonely", ALONE=True)


def row(name, result, commit="old", engine="foam", way="update"):
    return {"case": name, "engine": engine, "way": way, "result": result, "commit": commit}


def test_open_are_those_without_a_result_on_this_commit_the_bad_ones_first():
    rows = [
        row("one", "right"),
        row("two", "lost"),
        row("three", "right", "new"),
        row("two", "right", "new", way="fallback"),
    ]
    assert choose.open_cases([ONE, TWO, THREE], rows, "foam", "update", "new") == [TWO, ONE]
    assert choose.open_cases([ONE, TWO, THREE], rows, "ppp", "update", "new") == [ONE, TWO, THREE]


def test_a_sample_has_right_ones_that_need_no_package():
    rows = [row("one", "right"), row("two", "lost"), row("three", "right"), row("lonely", "right")]
    assert choose.sample([ONE, TWO, THREE, LONELY], rows, "foam", "update", 2, random.Random(1)) == [ONE]


def test_a_seed_draws_the_same_sample():
    cases = [case(str(number)) for number in range(20)]
    rows = [row(one.name, "right") for one in cases]
    drawn = [choose.sample(cases, rows, "foam", "update", 3, random.Random(7)) for _number in range(2)]
    assert drawn[0] == drawn[1] and len(drawn[0]) == 3


@pytest.mark.parametrize(
    ("result", "sentence", "good"),
    [
        ("right", "", True),
        ("refused", "It has a socket with kernel TLS.", True),
        ("refused", "It has a device.", False),
        ("lost", "kernel TLS", False),
        ("wrong", "", False),
    ],
)
def test_a_refusal_is_good_with_the_right_sentence_only(result, sentence, good):
    assert choose.is_good(case("one", REFUSAL="kernel TLS"), result, sentence) is good


def test_no_refusal_is_good_where_none_is_expected():
    assert not choose.is_good(ONE, "refused", "anything")


@pytest.mark.parametrize(("result", "good"), [("refused", True), ("right", False), ("wrong", False)])
def test_without_the_checks_of_preflight_any_refusal_is_good_and_nothing_else(result, good):
    assert choose.is_good(ONE, result, "CRIU's own words", "unseen") is good
