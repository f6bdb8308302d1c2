# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The memory engines there are: how an application's pages get from one kernel to the other."""

from __future__ import annotations

from .._blocker import Blocked, about, sentences
from .._errors import KupError
from .._system import filesystems
from . import checks, criu, foam, ppp

#: engine → its module
ENGINES = {"ppp": ppp, "foam": foam, "criu": criu}

# The better one first. Not ppp: after a power cut nothing is left of what it keeps, which is for a person to accept.
_AUTOMATIC = ("foam", "criu")

AUTO = "auto"


def disk_checkpoint(setting):
    """The engine that a value of kup_ppp_disk_checkpoint names; empty for ``none``."""
    return "" if setting == "none" else setting


def check(name):
    """Refuse an engine that there is not.

    :raises KupError: neither ``auto`` nor an engine.
    """
    if name not in (AUTO, *ENGINES):
        raise KupError(f"kup_engine is {name!r}, expected one of {', '.join((AUTO, *ENGINES))}.")


def choose(name, images, kernels, disk_checkpoint="", daemon=True):
    """The engine that ``name`` means on this node: itself, or for ``auto`` the best that works.

    :param images: directory for checkpoint images.
    :param kernels: releases of both kernels.
    :param disk_checkpoint: the engine of the checkpoint on the disk that ``ppp`` is to have (`disk_checkpoint`), if any.
    :param daemon: the node's side is installed; before that, a missing page daemon is no blocker.
    :returns: (name, why no better one: sentences).
    :raises Blocked: it cannot work here.
    """
    check(name)
    reasons = []
    for candidate in [name] if name != AUTO else _AUTOMATIC:
        found = _blockers(candidate, images, kernels, daemon)
        if candidate == "ppp" and disk_checkpoint:
            found += _blockers(disk_checkpoint, images, kernels, daemon)
            found += checks.disk_checkpoint_in_memory(images, filesystems.in_memory(images))
        if not found:
            return candidate, sentences(reasons)
        reasons += found
    raise Blocked(reasons)


def _blockers(name, images, kernels, daemon):
    engine = ENGINES[name]
    found = engine.blockers(images, daemon)
    found += [blocker for kernel in kernels for blocker in engine.kernel_blockers(kernel, daemon)]
    return about(found, engine=name)


def images_bytes(name, disk_checkpoint, rss, shmem):
    """Size of all images, about (see `criu.images_bytes`)."""
    found = ENGINES[name].images_bytes(rss, shmem)
    return found + (ENGINES[disk_checkpoint].images_bytes(rss, shmem) if name == "ppp" and disk_checkpoint else 0)


def packages(name, kernels):
    """Debian packages that the engine ``name`` lacks for ``kernels`` (releases); what ``auto`` chooses lacks none."""
    return ENGINES[name].packages(kernels) if name in ENGINES else []
