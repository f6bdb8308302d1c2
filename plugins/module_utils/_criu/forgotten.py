# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What a CRIU does not put back, and a newer one does."""

from __future__ import annotations

from .command import numbers

# The first version that does; by names of attributes (_environment/attributes.py).
_SINCE = {
    "membarrier": (3, 19),
    "membarrier-rseq": (3, 19),
    "membarrier-sync-core": (3, 19),
    "ambient": (4, 1),
    "no-new-privs": (4, 1),
    "thp-disable": (4, 1),
    "wipe-on-fork": (4, 2),
}


#: All that some version forgets.
NAMES = frozenset(_SINCE)


def by(criu):
    """Names of the attributes that this version forgets, e.g. ``{"wipe-on-fork"}`` for ``4.1.1``; none of an empty version."""
    return frozenset(name for name, since in _SINCE.items() if criu and numbers(criu) < since)
