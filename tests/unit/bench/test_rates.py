import pytest

from bench.papers import line, rates

BEGIN = 1000


def seconds(*spans):
    """[second, requests, hits] of SPANS, (from, to, requests), seconds counted from BEGIN; all requests are hits."""
    return [[BEGIN + second, number, number] for start, end, number in spans for second in range(start, end)]


def test_an_update_that_leaves_the_requests_as_they_were():
    found = rates.compare(seconds((-20, 5, 100), (15, 60, 100)), BEGIN, BEGIN + 20, 20)

    assert found["before_per_s"] == 100
    assert found["prepared_share"] == found["after_share"] == 1
    # From the last second that had an answer to the next.
    assert found["silent_s"] == 11
    assert found["recovered_s"] == 11
    assert found["hits_share"] == 1
    assert found["requests_lost"] == pytest.approx(1000, abs=100)


def test_requests_that_are_lost_before_the_freeze_count():
    found = rates.compare(seconds((-20, 0, 100), (0, 30, 25), (40, 80, 100)), BEGIN, BEGIN + 50, 20)

    assert found["prepared_share"] == 0.25
    assert found["after_share"] == 1
    assert found["requests_lost"] == pytest.approx(30 * 75 + 1000, abs=100)


def test_a_cold_cache_takes_its_time():
    cold = [[BEGIN + second, 40, 10] for second in range(30, 60)]
    found = rates.compare([*seconds((-20, 5, 100)), *cold, *seconds((60, 90, 95))], BEGIN, BEGIN + 40, 20)

    assert found["silent_s"] == 26
    # Half a minute after the first answer.
    assert found["recovered_s"] == pytest.approx(56, abs=2)
    assert found["hits_share"] == 0.25


def test_a_cache_that_never_recovers():
    assert rates.compare(seconds((-20, 5, 100), (10, 60, 50)), BEGIN, BEGIN + 20, 20)["recovered_s"] is None


def test_the_line_through_points():
    assert line.fit([(1, 3.0), (2, 5.0), (4, 9.0)]) == pytest.approx((2, 1, 1))
