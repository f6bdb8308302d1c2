# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The row of a node; tests/unit/roles/test_verdict.py has Ansible ask for it."""

from __future__ import annotations

import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _row

FIT = {"kup_checkpoint_fit": {"running": "6.12", "needs_update": True}}
SWITCHED = {
    "kup_kexec_switched": {"kernel": "7.2", "outage_s": 3.1, "units": ["new"], "record": {"kernel_old": "6.12"}}
}
RETURNED = {"kup_restore_returned": {"kernel": "6.12", "outage_s": 5.2, "units": ["old"]}}


def test_of_a_node_that_was_never_reached():
    row = _row.of({}, "node1")
    assert (row["name"], row["result"], row["reason"], row["fresh_units"]) == ("node1", "pending", "", [])
    assert {row[name] for name in ("kernel_before", "kernel_after", "outage_s", "timeline", "numbers")} == {None}


def test_until_its_switch_it_has_the_kernel_that_it_had():
    row = _row.of({**FIT, "kup_kexec_switched": {"state": "lost", "record": None}}, "node1")
    assert (row["kernel_before"], row["kernel_after"]) == ("6.12", "6.12")


def test_what_it_said_last_counts_and_the_outage_is_that_of_the_update():
    row = _row.of({**FIT, **SWITCHED, **RETURNED}, "node1")
    assert (row["kernel_before"], row["kernel_after"], row["units"], row["outage_s"]) == ("6.12", "6.12", ["old"], 3.1)


def test_on_the_way_back_the_outage_is_that_of_the_way_back():
    row = _row.of({**FIT, **RETURNED, "__kup_way": "back", "__kup_went_back": True}, "node1")
    assert (row["result"], row["outage_s"]) == ("returned", 5.2)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"__kup_reason": "a"}, "a"),
        ({"__kup_reason": "a", "kup_restore_settled": {"result": "fell_back", "trouble": ""}}, "a"),
        ({"__kup_reason": "a", "kup_restore_settled": {"result": "fell_back", "trouble": "b"}}, "a; and then: b"),
        ({"__kup_reason": ["a", "b"], "kup_drain_left": "is drained"}, "['a', 'b']; is drained"),
        ({"__kup_reason": "", "kup_drain_left": "is drained"}, "is drained"),
    ],
)
def test_the_reason_has_all_that_went_wrong(facts, reason):
    assert _row.of(facts, "node1")["reason"] == reason
