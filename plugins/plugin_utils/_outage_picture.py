# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""How long the outages of a fleet were: a picture of their distribution, and the numbers that say the same."""

from __future__ import annotations

import math

from ansible_collections.kup.fleet.plugins.plugin_utils import _svg

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 880, 190, 24, 24, 24, 150
_BINS = 20
_ABSURD = 1e7  # seconds, four months: no outage is longer


def outages(rows):
    """Seconds of the outages of the nodes that had one, sorted."""
    found = [row.get("outage_s") for row in rows]
    return sorted(float(each) for each in found if is_seconds(each))


def is_seconds(value):
    # Neither of an infinity nor of no number is this true.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < _ABSURD


def percentile(found, share):
    """The least of the sorted ``found`` that ``share`` of them, from 0 to 1, do not exceed."""
    return found[max(math.ceil(share * len(found)), 1) - 1]


def draw(found):
    """A bar for each interval of seconds, with the number of nodes above it; the picture as an element.

    :param found: see `outages`; not empty.
    """
    width = _svg.nice(max(found[-1], 0.1) / _BINS)
    counts = {}
    for each in found:
        place = int(each / width)
        counts[place] = counts.get(place, 0) + 1
    last = max(counts) + 1
    picture = _svg.Picture(0, last * width, _LEFT, _WIDTH - _RIGHT)
    highest = max(counts.values())
    for place, count in sorted(counts.items()):
        x, end = picture.x(place * width), picture.x((place + 1) * width)
        height = max(round((_BOTTOM - _TOP) * count / highest, 1), 2)
        picture.rectangle(x + 1, round(_BOTTOM - height, 1), round(end - x - 2, 1), height, "new")
        picture.text(round((x + end) / 2, 1), round(_BOTTOM - height - 5, 1), str(count), "small", "middle")
    step = max(1, -(-last // 10))
    for place in range(0, last + 1, step):
        picture.text(picture.x(place * width), _BOTTOM + 18, f"{round(place * width, 6):g} s", "small", "middle")
    picture.text(_WIDTH / 2, _HEIGHT - 4, "outage of a node; the numbers above the bars are nodes", "small", "middle")
    return picture.svg(_WIDTH, _HEIGHT, f"Distribution of the outages of {len(found)} nodes")
