# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node waits until it may begin, or may not."""

from __future__ import annotations

import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _permit

GO, PAUSE, STOP = _permit.GO, _permit.State("wait", "it is paused"), _permit.State("stop", "the window closes")


def wait(*answers):
    """(the permit, what was said) for lists of states, one for each question; the last one stays."""
    left, now, said = list(answers), [0.0], []
    permit = _permit.wait(
        lambda _now: left.pop(0) if len(left) > 1 else left[0],
        lambda: now[0],
        lambda seconds: now.__setitem__(0, now[0] + seconds),
        said.append,
    )
    return permit, said


@pytest.mark.parametrize(
    ("answers", "reason", "at"),
    [
        ([[GO, GO]], "", 0),
        ([[]], "", 0),
        ([[PAUSE, GO], [PAUSE, GO], [GO, GO]], "", 2 * _permit.PACE),
        ([[GO, STOP]], "the window closes", 0),
        ([[PAUSE, STOP]], "the window closes", 0),
        # What it has waited for is not said twice.
        (
            [[PAUSE], [_permit.State("stop", "it is paused; that is enough")]],
            "it is paused; that is enough",
            _permit.PACE,
        ),
        ([[PAUSE, GO], [PAUSE, STOP]], "the window closes; the node had waited, because it is paused", _permit.PACE),
    ],
)
def test_a_node_waits_until_nothing_lets_it_wait(answers, reason, at):
    permit, said = wait(*answers)
    assert permit == _permit.Permit(reason, at, at)
    assert said == ["it is paused"] * (at > 0)


def test_a_node_that_waits_says_so_again_after_a_while_and_when_the_reason_is_another():
    other = _permit.State("wait", "it is another")
    _permitted, said = wait(*[[PAUSE]] * 101, [other, PAUSE], [GO])
    assert said == ["it is paused", "it is paused", "it is another"]


def test_waiting_is_no_work():
    permit = _permit.Permit("", 40.0, 200.0)
    assert permit.times([]) == [200.0]
    assert permit.times([100.0]) == [140.0, 200.0]
