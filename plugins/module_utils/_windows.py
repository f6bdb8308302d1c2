# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Windows of time as people write them: ``02:00-04:30``, ``Mon-Fri 22:00-04:00``.

Times are those of a clock on the wall: a night in which that clock is changed makes a window an hour shorter or longer.
"""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import dataclass

from ._errors import KupError

FORM = "times such as '02:00-04:30', after days where there are any, such as 'Sat 02:00-04:30' or 'Mon-Fri 22:00-04:00'"
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY_MINUTES = 24 * 60
_WEEK = 7 * 24 * 3600  # seconds
_WRITTEN = re.compile(r"(?:([A-Za-z]{3})(?:-([A-Za-z]{3}))? )?(\d\d):(\d\d)-(\d\d):(\d\d)", re.ASCII)


@dataclass(frozen=True)
class Window:
    """``days`` on which it opens (0 is Monday); ``first`` and ``last``, minutes after that day's midnight; ``last`` may be on the next day."""

    text: str
    days: frozenset
    first: int
    last: int

    def openings(self, now, zone, days):
        """Yield (opens, closes), seconds since the epoch, of those that open on one of ``days``, counted from the day of ``now``."""
        today = datetime.datetime.fromtimestamp(now, zone).date()
        for offset in days:
            day = today + datetime.timedelta(days=offset)
            if day.weekday() in self.days:
                yield _seconds(day, self.first, zone)[0], min(_seconds(day, self.last, zone))


def _seconds(day, minutes, zone):
    """Seconds since the epoch of a time on the wall; the two that it has where the clock is changed."""
    midnight = datetime.datetime(day.year, day.month, day.day)
    wall = (midnight + datetime.timedelta(minutes=minutes)).replace(tzinfo=zone)
    return wall.timestamp(), wall.replace(fold=1).timestamp()


def parse(place, text):
    """``text`` as a `Window`.

    :param place: how a sentence about it begins, such as "kup_window has the element".
    :raises KupError: it is none.
    """
    found = _WRITTEN.fullmatch(text)
    days = _days(found[1], found[2]) if found else None
    first, last = (_minutes(found[3], found[4]), _minutes(found[5], found[6])) if found else (None, None)
    if None in (days, first, last) or first in (last, _DAY_MINUTES):
        raise KupError(f"{place} {text!r}, expected {FORM}.")
    return Window(text, days, first, last if last > first else last + _DAY_MINUTES)


def _days(first, last):
    """The set of days that two names mean, also over a Sunday; all if there is none, None if one is no day."""
    if first is None:
        return frozenset(range(7))
    names = [name.capitalize() for name in (first, last or first)]
    if not set(names) <= set(_DAYS):
        return None
    begin, end = map(_DAYS.index, names)
    return frozenset((begin + step) % 7 for step in range((end - begin) % 7 + 1))


def _minutes(hours, minutes):
    """Minutes after midnight; 24:00 is the end of a day."""
    total = 60 * int(hours) + int(minutes)
    return total if int(minutes) < 60 and total <= _DAY_MINUTES else None


def closing(windows, now, zone=None):
    """(when the window around ``now`` closes, the `Window`), or None outside of all. Windows without a gap between them are one.

    :param now: seconds since the epoch, as is what is returned; infinite if no gap follows within a week.
    :param zone: `datetime.tzinfo`; None is the local one.
    """
    found = _around(windows, now, zone)
    following = found
    while following:
        found = following
        if found[0] > now + _WEEK:
            return math.inf, found[1]
        following = _around(windows, found[0], zone)
    return found


def _around(windows, now, zone):
    covering = [
        (closes, window)
        for window in windows
        for opens, closes in window.openings(now, zone, (-1, 0))
        if opens <= now < closes
    ]
    return max(covering, key=lambda each: each[0], default=None)


def longest(windows):
    """Seconds for which the ``windows`` are open at most, in weeks without a change of the clock."""
    utc = datetime.timezone(datetime.timedelta())
    opened = {opens for window in windows for opens, _closes in window.openings(0, utc, range(7))}
    return max(closing(windows, opens, utc)[0] - opens for opens in opened)


def opening(windows, now, zone=None):
    """When the next of the ``windows`` opens after ``now``, seconds since the epoch."""
    return min(
        opens
        for window in windows
        for opens, closes in window.openings(now, zone, range(15))
        # A change of the clock may have left nothing of it.
        if now < opens < closes
    )


def shown(moment, zone=None):
    """A moment for a sentence, such as "Sat 04:00"."""
    local = datetime.datetime.fromtimestamp(moment, zone)
    return f"{_DAYS[local.weekday()]} {local:%H:%M}"
