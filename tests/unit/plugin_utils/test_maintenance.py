# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a node may begin in what is left of a maintenance window."""

from __future__ import annotations

import datetime
import zoneinfo

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _maintenance, _permit

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
WINDOW = "Sat 02:00-04:00"


def saturday(text):
    return datetime.datetime.fromisoformat(f"2026-11-28 {text}").replace(tzinfo=BERLIN).timestamp()


def committed(permits, ended, **more):
    return {"kup_restore_kept": {"failed": False, "ended": ended}, "__kup_permits": permits, **more}


FACTS = {
    "n1": committed([100.0, 160.0], 300.5),
    "n2": committed([100.0, 110.0], 290.0),
    # Neither counts: it failed, or an earlier rollout has switched it, or its turn has not ended.
    "n3": committed([0.0, 0.0], 900.0, __kup_failed=True),
    "n4": {"kup_restore_kept": {"failed": False, "ended": 900.0}},
    "n5": {"__kup_permits": [0.0]},
    "n6": {},
}


@pytest.mark.parametrize(
    ("facts", "switching", "cutoff", "seconds", "source"),
    [
        (FACTS, False, 0, 200.5, "a node takes 201 s"),
        (FACTS, True, 0, 180.0, "a node takes 180 s"),
        (FACTS, False, 900, 900, "kup_window_cutoff is 900 s"),
        ({"n1": committed([100.0], 300.5)}, True, 0, 200.5, "a node takes 201 s"),
        ({"n6": {}}, False, 0, 600, "a node may take 600 s (kup_switch_timeout)"),
        ({}, True, 0, 600, "a node may take 600 s (kup_switch_timeout)"),
    ],
)
def test_the_slowest_node_says_how_much_must_be_left(facts, switching, cutoff, seconds, source):
    assert _maintenance.needed(facts, switching, cutoff, 600) == _maintenance.Need(seconds, source)


@pytest.mark.parametrize(
    ("texts", "time", "objection"),
    [
        ([], "12:00", ""),
        ([WINDOW], "02:00", ""),
        ([WINDOW], "03:54:40", ""),
        ([WINDOW], "03:54:41", "the window Sat 02:00-04:00 closes at Sat 04:00, a node takes 320 s"),
        ([WINDOW], "04:00", "at Sat 04:00 kup_window (Sat 02:00-04:00) is not open"),
        ([WINDOW, "Sun 02:00-04:00"], "05:00", "at Sat 05:00 kup_window (Sat 02:00-04:00; Sun 02:00-04:00) is not open"),
        ([WINDOW, "Sat 04:00-05:00"], "03:58", ""),
        (["00:00-24:00"], "23:59", ""),
    ],
)  # fmt: skip
def test_a_node_begins_only_if_it_will_be_finished(texts, time, objection):
    need = _maintenance.Need(320, "a node takes 320 s")
    assert _maintenance.objection(_maintenance.parse(texts), BERLIN, need, saturday(time)) == objection


MORE = "Sat 05:00-06:00"


@pytest.mark.parametrize(
    ("texts", "time", "patience", "verdict", "reason"),
    [
        ([], "01:00", 3600, "go", ""),
        ([WINDOW], "03:00", 3600, "go", ""),
        ([WINDOW], "01:30", 0, "stop", "at Sat 01:30 kup_window (Sat 02:00-04:00) is not open"),
        ([WINDOW], "01:30", 1799, "stop", "at Sat 01:30 kup_window (Sat 02:00-04:00) is not open"),
        ([WINDOW], "01:30", 1800, "wait", "kup_window (Sat 02:00-04:00) opens at Sat 02:00"),
        ([WINDOW], "03:58", 3600, "stop", "the window Sat 02:00-04:00 closes at Sat 04:00, a node takes 320 s"),
        ([WINDOW, MORE], "03:58", 3719, "stop", "the window Sat 02:00-04:00 closes at Sat 04:00, a node takes 320 s"),
        ([WINDOW, MORE], "03:58", 3720, "wait", "kup_window (Sat 02:00-04:00; Sat 05:00-06:00) opens at Sat 05:00"),
        # It opens within another that is open, and closes too soon as well.
        ([WINDOW, "Sat 03:59-04:01"], "03:58", 3600, "stop", "the window Sat 03:59-04:01 closes at Sat 04:01, a node takes 320 s"),
        # There is no room for the node.
        (["Sat 02:00-02:05"], "01:30", 3600, "stop", "at Sat 01:30 kup_window (Sat 02:00-02:05) is not open"),
        (["00:00-24:00"], "23:59", 3600, "go", ""),
    ],
)  # fmt: skip
def test_a_node_waits_for_a_window_that_opens_soon_and_has_room_for_it(texts, time, patience, verdict, reason):
    need = _maintenance.Need(320, "a node takes 320 s")
    found = _maintenance.state(_maintenance.parse(texts), BERLIN, need, saturday(time), patience)
    assert found == _permit.State(verdict, reason)


@pytest.mark.parametrize(
    ("texts", "time", "line"),
    [
        ([], "12:00", ""),
        ([WINDOW], "03:00", "window: Sat 02:00-04:00 (Europe/Berlin) is now open, and closes at Sat 04:00"),
        ([WINDOW], "04:00", "window: Sat 02:00-04:00 (Europe/Berlin) is now not open, and opens at Sat 02:00"),
        (["00:00-24:00"], "04:00", "window: 00:00-24:00 (Europe/Berlin) is now open, and does not close"),
    ],
)
def test_the_plan_says_whether_a_window_is_open(texts, time, line):
    about = _maintenance.outlook(texts, "Europe/Berlin", saturday(time))
    assert _maintenance.line(about) == line
    assert about["open"] == ("not open" not in line)


def test_the_controllers_own_zone_is_the_default():
    assert _maintenance.zone("") is None
    assert _maintenance.zone("Europe/Berlin") == BERLIN
    assert "(local time)" in _maintenance.line(_maintenance.outlook([WINDOW], "", 0))


@pytest.mark.parametrize(
    "name", ["Europe", "Mars/Olympus", "../etc/passwd", "/etc/passwd", "Europe/Berlin\0", "a" * 999]
)
def test_a_zone_that_there_is_not_is_refused(name):
    with pytest.raises(
        KupError, match="^kup_window_zone is .*expected the name of a time zone such as 'Europe/Berlin'"
    ):
        _maintenance.zone(name)


def test_a_cutoff_that_no_window_leaves_is_refused():
    _maintenance.check_cutoff([], 99999, 600)
    _maintenance.check_cutoff([WINDOW], 7200, 99999)
    _maintenance.check_cutoff([WINDOW], 0, 7200)
    with pytest.raises(
        KupError, match=r"^kup_window_cutoff is 7201 s, and kup_window \(Sat 02:00-04:00\) is never open for as long"
    ):
        _maintenance.check_cutoff([WINDOW], 7201, 600)
    with pytest.raises(
        KupError, match=r"^kup_switch_timeout is 7201 s, and kup_window \(Sat 02:00-04:00\) is never open for as long"
    ):
        _maintenance.check_cutoff([WINDOW], 0, 7201)
