# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Checks of what the old boot has around the applications: whether the next one can have it before it restores them."""

from __future__ import annotations

from .._blocker import check


@check
def packet_filter(lost, said):
    """The node's packet filter cannot be recorded, or not be loaded before the interfaces come up."""
    for each in lost:
        yield (
            "The node's packet filter",
            f"has {each}, which cannot be put in force early in the next boot",
            "install the tool that has loaded it, or write the rules for nft",
        )
    if said:
        yield (
            "The node's packet filter",
            f"cannot be loaded before there are interfaces: {said}",
            "write it without devices: rules by iifname and oifname, no chains of the family netdev, no flowtables",
        )
