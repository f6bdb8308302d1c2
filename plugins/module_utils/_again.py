# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What passes by itself stops nothing: a question to D-Bus or to the resolver, a helper that ends, a connection that is being made."""

from __future__ import annotations

import time

#: How often a thing is tried, and seconds between two of these times.
TRIES, PAUSE = 3, 1.0


def settled(look, stands):
    """What ``look()`` returns once nothing of it ``stands(…)`` in the way any more, or the last time."""
    found = look()
    for _number in range(TRIES - 1):
        if not stands(found):
            break
        time.sleep(PAUSE)
        found = look()
    return found
