"""Blockers: their sentences, and what makes a function a check."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._blocker import (
    Blocked,
    Blocker,
    about,
    all_of,
    check,
    first_of,
)

FILE = Blocker("odd-file", "descriptor 3 (/x)", "is odd", "close it")


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "descriptor 3 (/x) is odd; close it."),
        ({"unit": "a.service"}, "a.service: descriptor 3 (/x) is odd; close it."),
        ({"unit": "a.service", "object": ""}, "a.service is odd; close it."),
        ({"unit": "a.service", "process": "a[7]"}, "a.service: process a[7] descriptor 3 (/x) is odd; close it."),
        ({"engine": "foam"}, "Engine foam: descriptor 3 (/x) is odd; close it."),
        ({"engine": "ppp", "unit": "a.service", "object": ""}, "Engine ppp: a.service is odd; close it."),
    ],
)
def test_a_blocker_is_a_sentence(fields, sentence):
    (blocker,) = about([FILE], **fields)
    assert blocker.sentence() == sentence


def test_modules_return_a_blocker_with_its_sentence():
    (blocker,) = about([FILE], unit="a.service", process="a[7]")
    assert blocker.as_dict() == {
        "code": "odd-file",
        "object": "descriptor 3 (/x)",
        "why": "is odd",
        "help": "close it",
        "unit": "a.service",
        "process": "a[7]",
        "engine": "",
        "sentence": "a.service: process a[7] descriptor 3 (/x) is odd; close it.",
    }


def test_blockers_as_an_error():
    error = Blocked([FILE, Blocker("no-room", "/images", "has no room", "make room")])
    assert str(error) == "descriptor 3 (/x) is odd; close it. /images has no room; make room."
    assert [blocker.code for blocker in error.blockers] == ["odd-file", "no-room"]


@check
def odd_number(number):
    """A number is odd."""
    if number % 2:
        yield str(number), "is odd", "add one"


@check
def large_number(number):
    """A number is large."""
    if number > 10:
        yield str(number), "is large", "take a smaller one"


def test_the_name_of_a_check_is_the_code_of_its_blockers():
    assert odd_number.code == "odd-number"
    assert odd_number.__doc__ == "A number is odd."
    assert odd_number(3) == [Blocker("odd-number", "3", "is odd", "add one")]
    assert odd_number(4) == []


@pytest.mark.parametrize(
    ("number", "every", "first"),
    [
        (13, ["odd-number", "large-number"], ["odd-number"]),
        (12, ["large-number"], ["large-number"]),
        (2, [], []),
    ],
)
def test_all_checks_or_the_first_that_finds_anything(number, every, first):
    checks = (odd_number, large_number)
    assert [blocker.code for blocker in all_of(checks, number)] == every
    assert [blocker.code for blocker in first_of(checks, number)] == first
