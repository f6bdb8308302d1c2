"""Rounds of pre-dump: what the last one has to write, and when they end."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._engines import rounds as copy_rounds


def rounds(*seconds):
    """Rounds of the given lengths, each beginning when the one before has ended."""
    began, found = 0.0, []
    for each in seconds:
        found.append(copy_rounds.Round(began, each, 1000, 0.1))
        began += each
    return found, began


def test_one_round_tells_nothing_of_what_is_written_meanwhile():
    done, now = rounds(8)
    assert copy_rounds.expected_freeze(done, now) is None
    assert not copy_rounds.enough(done, 100, now)


def test_the_first_round_tells_the_pace():
    assert copy_rounds.pace([]) == 0
    assert copy_rounds.pace(rounds(8, 2)[0]) == 1000 * 4096 / 8


def test_what_is_written_grows_with_the_time_since_the_last_round_began():
    done, now = rounds(8, 2)
    assert copy_rounds.expected_freeze(done, now) == pytest.approx(0.5)
    assert copy_rounds.expected_freeze(done, now + 2) == pytest.approx(1.0)


def test_rounds_end_at_the_target():
    done, now = rounds(8, 2)
    assert copy_rounds.enough(done, 0.5, now)
    assert not copy_rounds.enough(done, 0.49, now)


def test_rounds_end_when_they_get_no_shorter():
    done, now = rounds(8, 7)
    assert copy_rounds.enough(done, 0.01, now)
