# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Checks of CRIU's version with a kernel's and with the processor, and of what CRIU itself says of the running kernel."""

from __future__ import annotations

from .._blocker import check
from .command import numbers

# Known misfits, each seen on real kernels. An update dumps on the old kernel and restores on the new one, a fallback
# the other way round, so both kernels need both verbs.
#   (first CRIU without the fault, first kernel that shows it, what happens)
_MISFITS = (
    ((3, 18), (6, 13), "fails to dump and to restore"),
    ((4, 2), (6, 16), "cannot dump internet sockets"),
)


@check
def criu_kernel(version, release):
    """The installed CRIU is known to fail on one of the two kernels."""
    for fixed_in, since, what in _MISFITS:
        if numbers(version) < fixed_in and numbers(release) >= since:
            yield (
                f"CRIU {version}",
                f"{what} on kernel {release} (known since {'.'.join(map(str, since))})",
                f"install CRIU {'.'.join(map(str, fixed_in))} or later, or choose an older kernel",
            )


@check
def criu_processor(version, flags):
    """The installed CRIU has too little room for the registers of the processor."""
    # compel's struct xsave_struct had 4096 bytes; the tiles of AMX alone are 8192.
    if "amx_tile" in flags and numbers(version) < (3, 19):
        yield f"CRIU {version}", "cannot dump on this processor, which has AMX", "install CRIU 3.19 or later"


@check
def criu_check(said):
    """`criu check` fails on the running kernel."""
    if said:
        yield "'criu check'", f"fails on this kernel: {said}", "boot a kernel that CRIU supports"
