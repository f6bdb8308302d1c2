# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Checks of what a machine needs to start a patched kernel image (engine ``ppp``)."""

from __future__ import annotations

import re

from .._blocker import check


@check
def five_level_paging(image, cpuinfo):
    """The machine runs with 5-level page tables, and one of the two kernels is built without them."""
    if not image["five_level_paging"] and re.search(r"^flags\s*:.*\bla57\b", cpuinfo, re.M):
        yield (
            "This machine",
            f"runs with 5-level page tables, which {image['release']} does not know",
            "boot the running kernel with no5lvl first",
        )


@check
def unsigned_image(lockdown):
    """The running kernel is locked down and takes signed images only."""
    if re.search(r"\[(integrity|confidentiality)\]", lockdown):
        yield (
            "The kernel",
            "is locked down and takes signed images only, and a patched image is not signed",
            "switch Secure Boot off, or use the engine foam",
        )
