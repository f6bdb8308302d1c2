# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The memory engines, and the choice among them.

A new one is a file with a subclass of `base.Engine` and one of `base.Checkpoint`, a line in ``ENGINES``, and its name in the `choices` of
modules and roles (tests/unit/test_engine_choices.py fails until then).
"""

from __future__ import annotations

from .._blocker import Blocked, about, sentences
from .._errors import KupError
from .._system import filesystems
from . import checks, direct
from .criu import Criu
from .foam import Foam
from .ppp import Ppp

#: name → `Engine`. The order is that of preference for ``auto``.
ENGINES = {engine.name: engine for engine in (Ppp(), Foam(), Criu())}

AUTO, NONE = "auto", "none"

#: All values of ``kup_engine`` and of ``kup_ppp_disk_checkpoint``.
NAMES = (AUTO, *ENGINES)
DISK_CHECKPOINTS = (NONE, *(name for name, engine in ENGINES.items() if engine.writes_disk_checkpoints))


def disk_checkpoint(setting):
    """The engine that a value of ``kup_ppp_disk_checkpoint`` names; empty for ``none``."""
    return "" if setting == NONE else setting


def check(name):
    """Refuse an unknown engine.

    :raises KupError: neither ``auto`` nor an engine.
    """
    if name not in NAMES:
        raise KupError(f"kup_engine is {name!r}, expected one of {', '.join(NAMES)}.")


def choose(name, images, kernels, disk_checkpoint="", daemon=True):
    """The engine that ``name`` means on this node: itself, or for ``auto`` the best that works.

    :param images: directory for checkpoint images.
    :param kernels: releases of both kernels.
    :param disk_checkpoint: the engine of the disk checkpoint that ``ppp`` is to have (`disk_checkpoint`), if any.
    :param daemon: whether a missing page daemon is a blocker; before its installation it is none.
    :returns: (name, why no better one: sentences).
    :raises Blocked: it cannot work here.
    """
    check(name)
    reasons = []
    automatic = [each for each, engine in ENGINES.items() if engine.survives_power_cut]
    for candidate in [name] if name != AUTO else automatic:
        found = _blockers(candidate, images, kernels, daemon)
        if takes_disk_checkpoint(candidate) and disk_checkpoint:
            found += _blockers(disk_checkpoint, images, kernels, daemon)
            found += checks.disk_checkpoint_in_memory(images, filesystems.in_memory(images))
        if not found:
            return candidate, sentences(reasons)
        reasons += found
    raise Blocked(reasons)


def takes_disk_checkpoint(name):
    """Whether the engine needs a disk checkpoint beside its own checkpoints to survive a power cut."""
    return not ENGINES[name].survives_power_cut


def _blockers(name, images, kernels, daemon):
    engine = ENGINES[name]
    found = engine.blockers(images, daemon)
    found += [blocker for kernel in kernels for blocker in engine.kernel_blockers(kernel, daemon)]
    return about(found, engine=name)


def images_bytes(name, disk_checkpoint, rss, shmem):
    """Estimated size of all images (see `Engine.images_bytes`)."""
    found = ENGINES[name].images_bytes(rss, shmem)
    if takes_disk_checkpoint(name) and disk_checkpoint:
        found += ENGINES[disk_checkpoint].images_bytes(rss, shmem)
    return found


def packages(name, kernels):
    """Debian packages that the engine ``name`` lacks for ``kernels`` (releases); with ``auto`` what each of them needs."""
    return ENGINES[name].packages(kernels) if name in ENGINES else direct.packages()
