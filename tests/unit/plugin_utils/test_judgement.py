# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When a metric of updated nodes is worse."""

from __future__ import annotations

import random

import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _judgement
from ansible_collections.kup.fleet.plugins.plugin_utils._judgement import Thresholds


def around(mean, count=50, spread=1.0, seed=1):
    chance = random.Random(f"{mean} {count} {seed}")
    return [chance.gauss(mean, spread) for _number in range(count)]


CONTROL = around(10)


@pytest.mark.parametrize(
    ("values", "thresholds", "verdict"),
    [
        (around(10, seed=2), {}, "pass"),
        (around(20), {}, "high"),
        (around(5), {}, "low"),
        # Only the bad direction counts.
        (around(20), {"direction": "increase"}, "high"),
        (around(20), {"direction": "decrease"}, "pass"),
        (around(5), {"direction": "decrease"}, "low"),
        (around(5), {"direction": "increase"}, "pass"),
        # It is sure that there is a shift, and that it is too small to count.
        (around(12), {"allowed_increase": 1.15}, "high"),
        (around(12), {"allowed_increase": 1.5}, "pass"),
        (around(8), {"allowed_decrease": 0.9}, "low"),
        (around(8), {"allowed_decrease": 0.5}, "pass"),
        # One node that is new, and a few values.
        (around(20, 5), {}, "high"),
        (around(20, 1), {}, "unknown"),
        ([], {}, "unknown"),
    ],
)
def test_verdicts(values, thresholds, verdict):
    assert _judgement.judge(values, CONTROL, Thresholds(**thresholds)).verdict == verdict


def test_without_others_nothing_is_known():
    assert _judgement.judge(CONTROL, [], Thresholds()) == _judgement.Judgement("unknown", 0.98)


def test_an_interval_that_is_wide_against_the_shift_is_no_change():
    # The interval is 0.04 to 0.87 about 0.45: zero is not in it, and it begins below a quarter of the shift.
    values = around(10.4, 50, 1.0, 0)
    found = _judgement.judge(values, CONTROL, Thresholds())
    assert 0 < found.shift.low < 0.25 * found.shift.estimate
    assert found.verdict == "pass"
    assert _judgement.judge(values, CONTROL, Thresholds(tolerance=0.0)).verdict == "high"
    assert _judgement.judge(values, CONTROL, Thresholds(tolerance=1.0)).verdict == "pass"


def test_errors_that_most_intervals_do_not_have():
    quiet, noisy = [0.0] * 60, [0.0] * 36 + [0.1] * 24
    assert _judgement.judge(noisy, quiet, Thresholds(direction="increase")).verdict == "high"
    assert _judgement.judge(quiet, noisy, Thresholds(direction="increase")).verdict == "pass"
    assert _judgement.judge(quiet, noisy, Thresholds()).verdict == "low"
    # Two intervals of sixty may be chance.
    assert _judgement.judge([0.0] * 58 + [0.1] * 2, quiet, Thresholds()).verdict == "pass"
    # Any value is more than none, by whatever factor.
    assert _judgement.judge(noisy, quiet, Thresholds(allowed_increase=100)).verdict == "high"


def test_values_that_never_change():
    assert _judgement.judge([5.0] * 10, [5.0] * 10, Thresholds()).verdict == "pass"
    found = _judgement.judge([7.0] * 10, [5.0] * 10, Thresholds())
    assert (found.verdict, found.median, found.median_control) == ("high", 7.0, 5.0)


def test_numbers_below_zero_grow_towards_it():
    values, control = [-5.0 + each for each in CONTROL], [-30.0 + each for each in CONTROL]
    assert _judgement.judge(values, [-20.0] * 50, Thresholds(allowed_increase=1.5)).verdict == "high"
    assert _judgement.judge(control, values, Thresholds(allowed_decrease=0.5)).verdict == "low"


def test_one_large_value_of_the_others_hides_nothing():
    assert _judgement.judge(around(20), [*CONTROL, 1e6], Thresholds()).verdict == "high"


def test_equal_nodes_are_seldom_worse():
    worse = sum(
        _judgement.judge(
            around(10, 30, 1, seed), around(10, 60, 1, -seed - 1), Thresholds(direction="increase")
        ).is_worse
        for seed in range(500)
    )
    assert worse <= 12
