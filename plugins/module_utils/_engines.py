# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The memory engines there are: how an application's pages get from one kernel to the other."""

from __future__ import annotations

from . import _engine_criu, _engine_foam, _engine_ppp
from ._errors import KupError

#: engine → its module
ENGINES = {"ppp": _engine_ppp, "foam": _engine_foam, "criu": _engine_criu}

# The better one first. Not ppp: after a power cut nothing is left of what it keeps, which is for a person to accept.
_AUTOMATIC = ("foam", "criu")

AUTO = "auto"


def check(name):
    """Refuse an engine that there is not.

    :raises KupError: neither ``auto`` nor an engine.
    """
    if name not in (AUTO, *ENGINES):
        raise KupError(f"kup_engine is {name!r}, expected one of {', '.join((AUTO, *ENGINES))}.")


def choose(name, images, kernels, daemon=True):
    """The engine that ``name`` means on this node: itself, or for ``auto`` the best that works.

    :param images: directory for checkpoint images.
    :param kernels: releases of both kernels.
    :param daemon: the node's side is installed; before it is, that it is missing is no obstacle.
    :returns: (name, why no better one: sentences).
    :raises KupError: it cannot work here.
    """
    check(name)
    reasons = []
    for candidate in [name] if name != AUTO else _AUTOMATIC:
        engine = ENGINES[candidate]
        found = engine.obstacles(images, daemon) + [
            text for kernel in kernels for text in engine.kernel_obstacles(kernel, daemon)
        ]
        if not found:
            return candidate, reasons
        reasons += [f"Engine {candidate}: {sentence}" for sentence in found]
    raise KupError(" ".join(reasons))


def packages(name, kernels):
    """Debian packages that the engine ``name`` lacks for ``kernels`` (releases); what ``auto`` chooses lacks none."""
    return ENGINES[name].packages(kernels) if name in ENGINES else []
