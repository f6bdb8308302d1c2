# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Windows of time: how they are written, and when they are open."""

from __future__ import annotations

import datetime
import math
import random
from zoneinfo import ZoneInfo

import pytest

from ansible_collections.kup.fleet.plugins.module_utils import _windows
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError

BERLIN = ZoneInfo("Europe/Berlin")
HOUR = 3600


def at(text, zone=datetime.UTC, fold=0):
    """Seconds since the epoch; 2026-11-28 is a Saturday."""
    return datetime.datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp()


def closing(now, *texts, zone=datetime.UTC):
    found = _windows.closing([_windows.parse("kup_window is", text) for text in texts], now, zone)
    return found and found[0]


@pytest.mark.parametrize(
    ("text", "now", "closes"),
    [
        ("02:00-04:30", "2026-11-28 01:59", None),
        ("02:00-04:30", "2026-11-28 02:00", "2026-11-28 04:30"),
        ("02:00-04:30", "2026-11-28 04:29:59", "2026-11-28 04:30"),
        ("02:00-04:30", "2026-11-28 04:30", None),
        ("22:00-02:00", "2026-11-28 23:00", "2026-11-29 02:00"),
        ("22:00-02:00", "2026-11-28 01:59", "2026-11-28 02:00"),
        ("22:00-02:00", "2026-11-28 02:00", None),
        ("20:00-24:00", "2026-11-28 23:59", "2026-11-29 00:00"),
        ("Sat 02:00-04:30", "2026-11-28 03:00", "2026-11-28 04:30"),
        ("Sat 02:00-04:30", "2026-11-29 03:00", None),
        # The night after Friday is Friday's.
        ("Mon-Fri 22:00-04:00", "2026-11-28 03:00", "2026-11-28 04:00"),
        ("Mon-Fri 22:00-04:00", "2026-11-28 23:00", None),
        ("Mon-Fri 22:00-04:00", "2026-11-30 03:00", None),
        ("sat-mon 22:00-04:00", "2026-12-01 03:00", "2026-12-01 04:00"),
        ("Sat-Mon 22:00-04:00", "2026-12-01 22:00", None),
    ],
)
def test_a_window_is_open_from_its_first_time_until_its_last(text, now, closes):
    assert closing(at(now), text) == (closes and at(closes))


def test_windows_without_a_gap_are_one():
    now = at("2026-11-28 23:00")
    assert closing(now, "Sat 22:00-24:00", "Sun 00:00-04:00") == now + 5 * HOUR
    assert closing(now, "Sat 22:00-24:00", "Sun 00:01-04:00") == now + HOUR
    assert closing(now, "Sat 22:00-01:00", "Sat 22:30-23:30") == now + 2 * HOUR
    assert closing(now, "00:00-24:00") == math.inf


@pytest.mark.parametrize(
    "text",
    ["", "now", "24:00-02:00", "2:00-4:00", "02:00", "02:00-04:00 ", "02:60-04:00", "02:00-24:01", "02:00-02:00",
     "Sam 02:00-04:00", "Mon-Fro 02:00-04:00", "Mon,Tue 02:00-04:00", "Mon -Fri 02:00-04:00", "Mon", "02:00-04:00\n"],
)  # fmt: skip
def test_what_is_no_window_is_refused(text):
    with pytest.raises(KupError) as caught:
        _windows.parse("kup_window has the element", text)
    assert str(caught.value) == f"kup_window has the element {text!r}, expected {_windows.FORM}."


@pytest.mark.parametrize(
    ("text", "now", "fold", "closes"),
    [
        # On 2026-03-29 02:00 is followed by 03:00: a window from 02:30 begins at 03:30, and one until 02:30 ends an hour early.
        ("02:30-05:00", "2026-03-29 03:15", 0, None),
        ("02:30-05:00", "2026-03-29 03:30", 0, "2026-03-29 05:00"),
        ("01:00-02:30", "2026-03-29 01:15", 0, "2026-03-29 01:30"),
        ("01:00-02:30", "2026-03-29 01:45", 0, None),
        ("02:10-02:50", "2026-03-29 03:15", 0, None),
        # On 2026-10-25 there are two times from 02:00 to 03:00: it ends at the first.
        ("01:00-02:30", "2026-10-25 02:15", 0, "2026-10-25 02:30"),
        ("01:00-02:30", "2026-10-25 02:15", 1, None),
        ("02:10-02:50", "2026-10-25 02:15", 0, "2026-10-25 02:50"),
        ("02:10-04:00", "2026-10-25 02:05", 1, "2026-10-25 04:00"),
    ],
)
def test_a_change_of_the_clock_makes_no_window_longer(text, now, fold, closes):
    assert closing(at(now, BERLIN, fold), text, zone=BERLIN) == (closes and at(closes, BERLIN))


def test_a_window_that_closes_has_ended_then_whatever_the_clock_does():
    """Property: half a second before the end it is open, and at the end no window is; in every hour of a year with changes."""
    chance = random.Random(7)
    for _round in range(400):
        windows = []
        for _number in range(chance.randint(1, 3)):
            first, last = chance.sample(range(0, 24 * 60, 30), 2)
            days = chance.choice(["", "Sat ", "Mon-Fri ", "Sun-Tue "])
            text = f"{days}{first // 60:02}:{first % 60:02}-{last // 60:02}:{last % 60:02}"
            windows.append(_windows.parse("kup_window is", text))
        now = at("2026-01-01 00:00") + chance.randrange(365 * 24 * 60) * 60
        found = _windows.closing(windows, now, BERLIN)
        if found is None:
            opens = _windows.opening(windows, now, BERLIN)
            assert opens > now
            assert _windows.closing(windows, opens, BERLIN) is not None
            assert _windows.closing(windows, opens - 1, BERLIN) is None
        elif found[0] != math.inf:
            assert found[0] > now
            assert _windows.closing(windows, found[0] - 0.5, BERLIN) is not None
            assert _windows.closing(windows, found[0], BERLIN) is None


def test_the_local_zone_is_the_default():
    now = datetime.datetime(2026, 11, 28, 2, 30)
    window = _windows.parse("kup_window is", "02:00-03:00")
    assert _windows.closing([window], now.timestamp())[0] == datetime.datetime(2026, 11, 28, 3).timestamp()


def test_when_the_next_one_opens():
    windows = [_windows.parse("kup_window is", text) for text in ("Sat 02:00-04:00", "Wed 22:00-04:00")]
    found = _windows.opening(windows, at("2026-11-28 02:00"), datetime.UTC)
    assert _windows.shown(found, datetime.UTC) == "Wed 22:00"
    assert found == at("2026-12-02 22:00")


@pytest.mark.parametrize(
    ("texts", "hours"),
    [
        (["02:00-04:00"], 2),
        (["Sat 02:00-04:00", "Sun 02:00-05:00"], 3),
        (["Sun 22:00-24:00", "Mon 00:00-04:00"], 6),
        (["00:00-24:00"], math.inf),
    ],
)
def test_how_long_windows_are_open_at_most(texts, hours):
    assert _windows.longest([_windows.parse("kup_window is", text) for text in texts]) == hours * HOUR
