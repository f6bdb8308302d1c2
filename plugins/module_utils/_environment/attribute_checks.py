# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Checks of what a unit had around it and no restore can give back."""

from __future__ import annotations

from .._blocker import check


@check
def landlock(attributes):
    """A process has put itself into a Landlock sandbox, which nobody else can make again."""
    if attributes.get("landlock"):
        yield (
            "the process",
            "is in a Landlock sandbox, which a restored process would not have any more",
            "switch the application's sandbox by Landlock off, or restart the unit with the new kernel instead",
        )


@check
def kernel_keys(attributes):
    """A process has keys in the kernel's keyrings (keyrings(7)), which end with the kernel."""
    if attributes.get("keys"):
        yield (
            "the process",
            f"has keys ({attributes['keys']}) in the kernel's keyrings, which end with the running kernel",
            "have the application keep them elsewhere (Kerberos: a ccache that is no KEYRING:), or restart the unit with the new kernel instead",
        )


ALL = (landlock, kernel_keys)
