# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Mann-Whitney U test: published results, a count of all pairs, and what must hold of any samples."""

from __future__ import annotations

import random
from statistics import median

import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _mann_whitney

# R's data sets: fuel consumption in mtcars by transmission, and ozone in airquality in May and August.
AUTOMATIC = [
    21.4,
    18.7,
    18.1,
    14.3,
    24.4,
    22.8,
    19.2,
    17.8,
    16.4,
    17.3,
    15.2,
    10.4,
    10.4,
    14.7,
    21.5,
    15.5,
    15.2,
    13.3,
    19.2,
]
MANUAL = [21.0, 21.0, 22.8, 32.4, 30.4, 33.9, 27.3, 26.0, 30.4, 15.8, 19.7, 15.0, 21.4]
MAY = [41, 36, 12, 18, 28, 23, 19, 8, 7, 16, 11, 14, 18, 14, 34, 6, 30, 11, 1, 11, 4, 32, 23, 45, 115, 37]
AUGUST = [39, 9, 16, 78, 35, 66, 122, 89, 110, 44, 28, 65, 22, 59, 23, 31, 44, 21, 9, 45, 168, 73, 76, 118, 84, 85]


def test_results_that_the_documentation_of_r_and_its_courses_have():
    cars = _mann_whitney.shift(AUTOMATIC, MANUAL, 0.95)
    assert (cars.u, round(cars.p, 6)) == (42.0, 0.001871)
    assert [round(each, 3) for each in (cars.low, cars.estimate, cars.high)] == [-11.7, -6.8, -2.9]
    # help(wilcox.test)
    ozone = _mann_whitney.shift(MAY, AUGUST, 0.95)
    assert (ozone.u, round(ozone.p, 7)) == (127.5, 0.0001208)


def test_a_result_by_hand():
    # No value of one between those of the other: U is 25, its deviation the root of 25 * 11 / 12, and z (12.5 - 0.5) / 4.787.
    found = _mann_whitney.shift([11, 12, 13, 14, 15], [1, 2, 3, 4, 5], 0.98)
    assert (found.u, found.estimate) == (25.0, 10.0)
    assert found.p == pytest.approx(0.01219, abs=1e-5)
    # The interval is from the difference of rank 1 (12.5 - 0.5 - 2.326 * 4.787 = 0.86) to that of rank 25.
    assert (found.low, found.high) == (6.0, 14.0)


def of_pairs(x, y):
    """(U, all differences in order), by looking at each pair."""
    return sum((a > b) + (a == b) / 2 for a in x for b in y), sorted(a - b for a in x for b in y)


def samples(seed):
    """Two samples: of many values, of few, and with many ties."""
    chance = random.Random(seed)
    sizes = [chance.randint(5, 60) for _number in range(2)]
    if seed % 2:
        return [[float(chance.randint(0, 3)) for _number in range(size)] for size in sizes]
    return [[chance.lognormvariate(0, 1) for _number in range(size)] for size in sizes]


@pytest.mark.parametrize("seed", range(20))
def test_the_same_as_of_all_pairs(seed):
    x, y = samples(seed)
    found = _mann_whitney.shift(x, y, 0.98)
    u, differences = of_pairs(x, y)
    assert (found.u, found.estimate) == (u, pytest.approx(median(differences), abs=1e-12))
    assert {found.low, found.high} <= set(differences)
    assert found.low <= found.estimate <= found.high
    assert 0 <= found.p <= 1


@pytest.mark.parametrize("seed", range(20))
def test_the_other_way_round_is_the_same(seed):
    x, y = samples(seed)
    one, other = _mann_whitney.shift(x, y, 0.95), _mann_whitney.shift(y, x, 0.95)
    assert (one.u, one.p) == (len(x) * len(y) - other.u, pytest.approx(other.p))
    assert (one.low, one.high, one.estimate) == pytest.approx((-other.high, -other.low, -other.estimate))


@pytest.mark.parametrize("seed", range(0, 20, 2))
def test_a_shift_and_a_scale_are_found_again(seed):
    x, y = samples(seed)
    one = _mann_whitney.shift(x, y, 0.95)
    moved = _mann_whitney.shift([1000 * value + 500 for value in x], [1000 * value for value in y], 0.95)
    for name in ("low", "estimate", "high"):
        assert getattr(moved, name) == pytest.approx(1000 * getattr(one, name) + 500)
    more = _mann_whitney.shift(x, y, 0.99)
    assert more.low <= one.low and one.high <= more.high


def test_samples_without_variance():
    same = _mann_whitney.shift([5.0] * 10, [5.0] * 10, 0.98)
    assert (same.p, same.low, same.estimate, same.high) == (1.0, 0.0, 0.0, 0.0)
    other = _mann_whitney.shift([7.0] * 10, [5.0] * 10, 0.98)
    assert (other.p < 0.001, other.low, other.estimate, other.high) == (True, 2.0, 2.0, 2.0)


def test_how_many_values_are_enough():
    assert [_mann_whitney.is_enough(count, count, 0.98) for count in (0, 1, 4, 5, 50)] == [
        False,
        False,
        False,
        True,
        True,
    ]
    assert [_mann_whitney.is_enough(count, 1000, 0.98) for count in (1, 2)] == [False, True]
    with pytest.raises(ValueError, match="^4 and 4 values are too few for a confidence of 0.98$"):
        _mann_whitney.shift([1, 2, 3, 4], [5, 6, 7, 8], 0.98)


def test_large_samples_need_no_list_of_all_pairs():
    chance = random.Random(7)
    x = [chance.gauss(10, 1) for _number in range(5000)]
    found = _mann_whitney.shift([value + 0.5 for value in x], [chance.gauss(10, 1) for _number in range(5000)], 0.98)
    assert 0.4 < found.low < found.estimate < found.high < 0.6


def test_one_in_fifty_intervals_of_equal_samples_is_without_zero():
    chance = random.Random(1)
    misses = 0
    for _round in range(1000):
        found = _mann_whitney.shift(*([chance.expovariate(1) for _number in range(20)] for _side in range(2)), 0.98)
        misses += not found.low <= 0 <= found.high
    assert 5 <= misses <= 35
