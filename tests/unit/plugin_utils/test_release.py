# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All nodes of a distribution and flavour get one release."""

from __future__ import annotations

import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _release

OLDER, NEWER = "7.2.9+deb13-cloud-amd64", "7.2.12+deb13-cloud-amd64"


def node(release, selector="7.2", **more):
    fit = {"selector": selector, "release": release, "needs_update": True, "phase": "", **more}
    return {"kup_checkpoint_fit": fit}


def test_older_package_lists_are_refused_with_both_releases():
    facts = {"node1": node(OLDER), "node2": node(NEWER), "node3": node(NEWER)}
    assert _release.differing(facts) == {
        "node1": f"kup_kernel 7.2 is {OLDER} here, expected {NEWER} as on node2; "
        "run apt-get update on this node, or name one release in kup_kernel that all nodes have."
    }


@pytest.mark.parametrize(
    "other",
    [
        node(OLDER, selector=OLDER),
        node("7.2.9+deb13-amd64"),
        node("6.12.48+deb13-cloud-amd64", selector="6.12"),
        node(OLDER, needs_update=False),
        node(OLDER, phase="probation"),
        node(""),
        {**node(OLDER), "__kup_failed": True},
        {},
    ],
    ids=["named", "flavour", "series", "up_to_date", "begun", "unknown", "refused", "unreachable"],
)
def test_others_are_not_compared(other):
    assert _release.differing({"node1": other, "node2": node(NEWER)}) == {}


def up_to_date(release, **more):
    return node(release, needs_update=False, running=release, **more)


def test_what_is_up_to_date_with_an_older_release_than_others_get_is_said():
    facts = {"node1": up_to_date(OLDER), "node2": node(NEWER), "node3": up_to_date(OLDER), "node4": up_to_date(NEWER)}
    assert _release.older(facts) == [
        f"node1, node3 run {OLDER} and count as up to date, because it is what they have installed of kup_kernel 7.2; others get {NEWER}. "
        "Name that release in kup_kernel to have them updated, too."
    ]


@pytest.mark.parametrize(
    "other",
    [
        up_to_date(NEWER),
        up_to_date(OLDER, selector=OLDER),
        up_to_date("7.2.9+deb13-amd64"),
        {**up_to_date(OLDER), "__kup_failed": True},
        {},
    ],
    ids=["newest", "named", "flavour", "refused", "unreachable"],
)
def test_of_others_there_is_nothing_to_say(other):
    assert _release.older({"node1": other, "node2": node(NEWER)}) == []
