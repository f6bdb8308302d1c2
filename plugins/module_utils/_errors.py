# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The one exception of the library."""

from __future__ import annotations


class KupError(Exception):
    """Something is wrong and nothing more was changed.

    The text is one sentence for an operator: what, which value, what was expected, what to do.
    """
