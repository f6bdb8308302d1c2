# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The Mann-Whitney U test of two samples, and by how much one is shifted against the other (Hodges-Lehmann).

The numbers are those of R's ``wilcox.test(x, y, exact=FALSE, correct=TRUE, conf.int=TRUE)``, which Kayenta's judge takes, too: the normal
approximation with corrections for continuity and ties. R and Kayenta search the ends of the interval as roots of a function that is
constant between two differences of values, and jumps at each of them. The roots are differences of known ranks, so that no search and no
added noise is needed, and samples without any variance have an interval, too.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from statistics import NormalDist

_STEPS = 200  # halvings of an interval; the difference of two numbers has 53 bits


@dataclass(frozen=True)
class Shift:
    """How the first sample lies to the second.

    ``u``: pairs in which the first has the larger value, ties as halves; ``superiority``: their share. ``p``: two-sided. ``estimate``: the
    median of all differences, and ``low`` and ``high`` its confidence interval.
    """

    u: float
    superiority: float
    p: float
    estimate: float
    low: float
    high: float


def is_enough(count, other, confidence):
    """Whether samples with as many values can be told apart at all: no value of one between those of the other is the clearest case."""
    pairs = count * other
    if not pairs:
        return False
    deviation = math.sqrt(pairs * (count + other + 1) / 12)
    return (pairs / 2 - 0.5) / deviation > _quantile(confidence)


def shift(first, second, confidence):
    """The `Shift` of two samples.

    :param first: finite numbers in any order; ``second``: the same.
    :param confidence: of the interval, between 0 and 1.
    :raises ValueError: there are too few values for that, see `is_enough`.
    """
    if not is_enough(len(first), len(second), confidence):
        raise ValueError(f"{len(first)} and {len(second)} values are too few for a confidence of {confidence}")
    x, y = sorted(first), sorted(second)
    pairs = len(x) * len(y)
    u = pairs - (_not_above(x, y, 0.0) + _not_above(x, y, 0.0, is_strict=True)) / 2
    # Between two differences of values only values of one sample are tied.
    spread = _deviation(len(x), len(y), [Counter(x), Counter(y)])
    rank = max(math.ceil(pairs / 2 - 0.5 - _quantile(confidence) * spread), 1)
    middle = [_difference(x, y, (pairs + 1) // 2), _difference(x, y, pairs // 2 + 1)]
    return Shift(
        u=u,
        superiority=u / pairs,
        p=_p(u - pairs / 2, _deviation(len(x), len(y), [Counter([*x, *y])])),
        estimate=sum(middle) / 2,
        low=_difference(x, y, rank),
        high=_difference(x, y, pairs + 1 - rank),
    )


def _quantile(confidence):
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _deviation(count, other, counters):
    """The standard deviation of U where values are tied as ``counters`` say."""
    total = count + other
    ties = sum(number**3 - number for counter in counters for number in counter.values())
    return math.sqrt(max(count * other / 12 * (total + 1 - ties / (total * (total - 1))), 0.0))


def _p(distance, deviation):
    if not deviation:
        return 1.0  # All values are equal.
    z = max(abs(distance) - 0.5, 0.0) / deviation
    return 2 * NormalDist().cdf(-z)


def _difference(x, y, rank):
    """The difference of that rank, from 1, among all of a value of ``x`` and one of ``y``, which are sorted. It needs no list of them."""
    low, high = x[0] - y[-1], x[-1] - y[0]
    if _not_above(x, y, low) >= rank:
        return low
    for _step in range(_STEPS):
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        if _not_above(x, y, middle) >= rank:
            high = middle
        else:
            low = middle
    return high


def _not_above(x, y, bound, is_strict=False):
    """How many differences of a value of ``x`` and one of ``y``, which are sorted, are at most ``bound``; or below it."""
    count = position = 0
    for value in x:
        while position < len(y) and (value - y[position] >= bound if is_strict else value - y[position] > bound):
            position += 1
        count += len(y) - position
    return count
