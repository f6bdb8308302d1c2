# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Checks of what a machine needs to start a kernel image without its decompressor."""

from __future__ import annotations

import re

from .._blocker import check


@check
def five_level_paging(release, knows, cpuinfo):
    """The machine runs with 5-level page tables, and one of the two kernels is built without them."""
    if not knows and re.search(r"^flags\s*:.*\bla57\b", cpuinfo, re.M):
        yield (
            "This machine",
            f"runs with 5-level page tables, which {release} does not know",
            "boot the running kernel with no5lvl first",
        )


@check
def encrypted_memory(kind):
    """The machine is a guest whose memory is encrypted: there the decompressor does what the kernel needs before it."""
    if kind not in ("", "none"):
        yield (
            "This machine",
            f"is a guest with encrypted memory ({kind}), in which only a kernel's own decompressor can start it",
            "use the engine foam",
        )


@check
def unsigned_image(lockdown):
    """The running kernel is locked down and takes signed images only."""
    if re.search(r"\[(integrity|confidentiality)\]", lockdown):
        yield (
            "The kernel",
            "is locked down and takes signed images only, and an unpacked image is not signed",
            "switch Secure Boot off, or use the engine foam",
        )
