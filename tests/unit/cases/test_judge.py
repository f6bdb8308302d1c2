"""What a case's result is, and which one has spoiled an update of several."""

from types import SimpleNamespace

import pytest

from tests.cases import judge
from tests.cases.update import Outcome

SAME = {"answers": True, "same": True, "differences": []}
FRESH = {"answers": True, "same": False, "differences": ["pid is 2, was 1"]}
DEAF = {"answers": False, "same": False, "differences": ["nobody answers: refused"]}


def case(name, **more):
    unit = f"case-{name}.service"
    return SimpleNamespace(name=name, unit=unit, units=[unit], FRESH=False, FORBIDDEN=0, ALONE=False, **more)


ONE, TWO, THREE = case("one"), case("one-two"), case("three")


def outcome(phase, reason="", knocks=None, fresh=(), **seen):
    return Outcome(phase, reason, fresh, {name.replace("_", "-"): found for name, found in seen.items()}, knocks or {})


@pytest.mark.parametrize(
    ("found", "way", "expected"),
    [
        (outcome("committed", one=SAME), "update", ("right", "")),
        (outcome("fell_back", one=SAME), "fallback", ("right", "")),
        (outcome("committed", one=DEAF), "update", ("lost", "nobody answers: refused")),
        (outcome("committed", one=FRESH), "update", ("lost", "its memory is lost")),
        (
            outcome("failed", "why", one=FRESH),
            "update",
            ("lost", "its memory is lost; the update ended as failed: why"),
        ),
        (outcome("fell_back", "why", one=SAME), "update", ("wrong", "the update ended as fell_back: why")),
        (outcome("refused", "it has a device", one=SAME), "update", ("refused", "it has a device")),
        (outcome("committed", one={**SAME, "differences": ["a is 1, was 2"]}), "update", ("wrong", "a is 1, was 2")),
    ],
)
def test_a_result(found, way, expected):
    assert judge.result(ONE, way, found) == expected


def test_a_client_outside_that_was_answered_makes_it_wrong():
    guarded = case("one")
    guarded.FORBIDDEN = 5030
    found = outcome("committed", knocks={"one": {"tried": 9, "answered": 3}}, one=SAME)
    assert judge.result(guarded, "update", found) == (
        "wrong",
        "a client outside was answered 3 times by port 5030",
    )


def test_a_fresh_start_is_right_only_where_the_record_says_so():
    torn = case("one")
    torn.FRESH = True
    assert judge.result(torn, "panic", outcome("fell_back", "panic", one=FRESH))[0] == "lost"
    said = outcome("fell_back", "panic", fresh=["case-one.service"], one=FRESH)
    assert judge.result(torn, "panic", said) == ("right", "it started fresh, and the record says so: panic")
    assert judge.result(ONE, "panic", said)[0] == "lost"


def test_blockers_are_told_apart_by_unit():
    blockers = [
        {"unit": "case-one.service", "sentence": "It has A."},
        {"unit": "case-one.service", "sentence": "It has B."},
        {"unit": "", "engine": "", "sentence": "No disk."},
        {"unit": "", "engine": "ppp", "sentence": "Not with ppp."},
    ]
    assert judge.refused([ONE, TWO], blockers) == ({"one": "It has A. It has B."}, ["No disk."])


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (outcome("committed", one=FRESH, one_two=SAME, three=SAME), []),
        (outcome("aborted", "case-one-two.service: cannot be dumped", one=SAME, one_two=SAME, three=SAME), [TWO]),
        (outcome("failed", "the restore failed", one=FRESH, one_two=SAME, three=SAME), [ONE]),
        # All are fresh: the boot failed before any of them, unless somebody is named.
        (outcome("failed", "ns_last_pid", one=FRESH, one_two=FRESH, three=FRESH), []),
        (outcome("failed", "case-three.service", one=FRESH, one_two=FRESH, three=FRESH), [THREE]),
        (outcome("fell_back", "the restore failed", one=SAME, one_two=SAME, three=SAME), []),
    ],
)
def test_who_spoiled_it(found, expected):
    assert judge.culprits([ONE, TWO, THREE], "update", found) == expected


def test_groups_have_those_alone_that_go_alone():
    lonely = case("lonely")
    lonely.ALONE = True
    assert judge.groups([ONE, lonely, TWO]) == [[ONE, TWO], [lonely]]
    assert judge.groups([lonely]) == [[lonely]]


def test_halves_are_all():
    assert judge.halves([ONE, TWO, THREE]) == [[ONE], [TWO, THREE]]
