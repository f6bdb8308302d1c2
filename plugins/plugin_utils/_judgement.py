# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Whether the values of a metric on updated nodes are worse than others: the rule of Kayenta's ``MannWhitneyClassifier``.

A metric is higher if the lower end of the confidence interval of the shift is above a share of the estimated shift (tolerance), and the mean has
grown by the factor that is allowed, or more (effect size). It is lower by the same rule the other way round. With an interval of 98 % that is a one-sided test
with one false alarm in a hundred. The tolerance asks in addition that the interval is narrow against the shift.

Where most values are equal, such as a counter of errors that is nearly always zero, the interval begins or ends at zero however sure the test is.
Kayenta, which adds noise to ties, calls that no change. Here the test itself decides then.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, median

from ansible_collections.kup.fleet.plugins.plugin_utils import _mann_whitney

DIRECTIONS = ("increase", "decrease", "either")


@dataclass(frozen=True)
class Thresholds:
    """When a metric is worse. The defaults are those of Kayenta's NetflixACAJudge.

    ``direction``: which change is bad, of `DIRECTIONS`. ``confidence``: of the interval. ``tolerance``: share of the estimated shift.
    ``allowed_increase`` and ``allowed_decrease``: factors of the mean from which on a change counts; 1 is any change of the shift, whatever
    single large values have made of the mean.
    """

    direction: str = "either"
    confidence: float = 0.98
    tolerance: float = 0.25
    allowed_increase: float = 1.0
    allowed_decrease: float = 1.0


@dataclass(frozen=True)
class Judgement:
    """``verdict``: "pass", "high", "low", or "unknown" for too few values. ``shift``: a `_mann_whitney.Shift`; None if unknown."""

    verdict: str
    confidence: float
    median: float | None = None
    median_control: float | None = None
    shift: object = None

    @property
    def is_worse(self):
        return self.verdict in ("high", "low")


def judge(values, control, thresholds):
    """The `Judgement` of ``values`` against ``control``, lists of finite numbers."""
    if not _mann_whitney.is_enough(len(values), len(control), thresholds.confidence):
        return Judgement("unknown", thresholds.confidence)
    shift = _mann_whitney.shift(values, control, thresholds.confidence)
    factor = _factor(fmean(values), fmean(control))
    verdict = _verdict(shift, factor, thresholds)
    return Judgement(verdict, thresholds.confidence, median(values), median(control), shift)


def _verdict(shift, factor, thresholds):
    bound = thresholds.tolerance * abs(shift.estimate)
    is_sure = shift.p < 1 - thresholds.confidence
    is_high = shift.low > bound or (shift.low == 0 and is_sure and shift.superiority > 0.5)
    is_low = shift.high < -bound or (shift.high == 0 and is_sure and shift.superiority < 0.5)
    is_much_more = thresholds.allowed_increase == 1 or factor >= thresholds.allowed_increase
    is_much_less = thresholds.allowed_decrease == 1 or factor <= thresholds.allowed_decrease
    if is_high and is_much_more and thresholds.direction != "decrease":
        return "high"
    if is_low and is_much_less and thresholds.direction != "increase":
        return "low"
    return "pass"


def _factor(mean, mean_control):
    """By which factor the mean has grown, also where it was negative."""
    if mean == mean_control:
        return 1.0
    if mean_control == 0:
        return float("inf") if mean > 0 else float("-inf")
    return 1 + (mean - mean_control) / abs(mean_control)
