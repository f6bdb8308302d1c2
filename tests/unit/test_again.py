# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What stands in the way for a moment is looked at again."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils import _again as again


@pytest.mark.parametrize(
    ("found", "last", "pauses"), [([0], 0, 0), ([1, 0], 0, 1), ([1, 2, 0], 0, 2), ([1, 2, 3, 0], 3, 2)]
)
def test_a_look_is_repeated_while_something_stands_in_the_way(monkeypatch, found, last, pauses):
    slept, looks = [], iter(found)
    monkeypatch.setattr(again.time, "sleep", slept.append)
    assert again.settled(lambda: next(looks), bool) == last
    assert slept == [again.PAUSE] * pauses
