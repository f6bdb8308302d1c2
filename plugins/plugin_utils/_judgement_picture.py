# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The values of a metric on updated nodes above those that they were compared with: a stroke for each, and a box about the middle half."""

from __future__ import annotations

import math
from statistics import quantiles

from ansible_collections.kup.fleet.plugins.plugin_utils import _svg

_WIDTH, _HEIGHT, _LEFT, _RIGHT = 880, 150, 170, 40
_TOPS, _ROW = (16, 68), 40
_MOST = 200  # values of a side
_ABSURD = 1e300  # beyond it differences have no number
#: control → what the second row is called
OTHERS = {"others": "not updated yet", "before": "before the update"}


def numbers(found):
    """The finite numbers of what a report has as a list of them."""
    listed = found[:_MOST] if isinstance(found, list) else []
    return [float(each) for each in listed if is_number(each)]


def is_number(value):
    is_one = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_one and abs(value) < _ABSURD and math.isfinite(value)


def draw(values, control, other, label):
    """The picture as an element.

    :param values: see `numbers`, not empty; ``control``: the same.
    :param other: of `OTHERS`, what the second row is called; ``label``: what the picture shows.
    """
    least, most = min(*values, *control), max(*values, *control)
    margin = (most - least) * 0.02 or max(abs(most) * 0.1, 1e-9)
    picture = _svg.Picture(least - margin, most + margin, _LEFT, _WIDTH - _RIGHT)
    for top, words, side in zip(_TOPS, ("updated", other), (values, control), strict=True):
        picture.text(_LEFT - 12, top + _ROW / 2 + 5, words, anchor="end")
        _row(picture, top, sorted(side))
    bottom = _TOPS[-1] + _ROW + 8
    picture.line(_LEFT, bottom, _WIDTH - _RIGHT, bottom, "grid")
    for value in sorted({least, most}):
        picture.text(picture.x(value), bottom + 18, f"{value:.4g}", "small", "middle")
    return picture.svg(_WIDTH, _HEIGHT, label)


def _row(picture, top, side):
    for value in side:
        x = picture.x(value)
        picture.line(x, top + 8, x, top + _ROW - 8, "value")
    first, middle, third = quantiles(side, n=4, method="inclusive") if len(side) > 1 else side * 3
    x, end = picture.x(first), picture.x(third)
    picture.rectangle(x, top, max(round(end - x, 1), 1), _ROW, "box")
    x = picture.x(middle)
    picture.line(x, top - 4, x, top + _ROW + 4, "median")
