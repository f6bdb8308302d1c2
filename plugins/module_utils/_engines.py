# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The memory engines there are: how an application's pages get from one kernel to the other."""

from __future__ import annotations

from ._errors import KupError

#: engine → how pages travel
ENGINES = {"criu": "CRIU's own images on disk"}

AUTO = "auto"


def check(name):
    """Refuse an engine that there is not.

    :raises KupError: neither ``auto`` nor an engine.
    """
    if name not in (AUTO, *ENGINES):
        raise KupError(f"kup_engine is {name!r}, expected one of {', '.join((AUTO, *ENGINES))}.")


def choose(name):
    """The engine that ``name`` means: itself, or for ``auto`` the best there is."""
    check(name)
    return "criu" if name == AUTO else name
