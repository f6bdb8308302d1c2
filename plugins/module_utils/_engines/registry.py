# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The memory engines, and the choice among them.

A new one is a file with a subclass of `base.Engine` and one of `base.Checkpoint`, a line in ``ENGINES``, and its name in the `choices` of
modules and roles (tests/unit/test_engine_choices.py fails until then).
"""

from __future__ import annotations

from dataclasses import dataclass

from .._blocker import Blocked, about, sentences
from .._errors import KupError
from .._system import filesystems
from . import checks, direct
from .base import DANGERS, PANIC, POWER_CUT, RESTORE_FAILURE
from .criu import Criu
from .foam import Foam
from .ppp import Ppp

#: name → `Engine`. The order is that of preference for ``auto``.
ENGINES = {engine.name: engine for engine in (Ppp(), Foam(), Criu())}

AUTO, NONE = "auto", "none"

#: All values of ``kup_engine`` and of ``kup_ppp_disk_checkpoint``.
NAMES = (AUTO, *ENGINES)
DISK_CHECKPOINTS = (NONE, *(name for name, engine in ENGINES.items() if engine.writes_disk_checkpoints))
#: The options of a module that chooses one (plugins/doc_fragments/engine.py).
OPTIONS = {
    "engine": {"type": "str", "choices": list(NAMES), "required": True},
    "ppp_disk_checkpoint": {"type": "str", "choices": list(DISK_CHECKPOINTS), "required": True},
    "survive": {"type": "list", "elements": "str", "choices": list(DANGERS), "default": [RESTORE_FAILURE, PANIC]},
}


@dataclass(frozen=True)
class Wish:
    """What a person asks for.

    ``engine``: one of `NAMES`. ``disk_checkpoint``: the engine of the disk checkpoint that an engine is to have which does not survive
    everything by itself; empty: none. ``survive``: what ``auto`` has to survive, of `base.DANGERS`.
    """

    engine: str = AUTO
    disk_checkpoint: str = ""
    survive: tuple = ()

    @classmethod
    def of(cls, options):
        """The wish of a module's options ``engine``, ``ppp_disk_checkpoint`` and ``survive``.

        :raises KupError: the engine is unknown.
        """
        check(options["engine"])
        disk = options["ppp_disk_checkpoint"]
        return cls(options["engine"], "" if disk == NONE else disk, tuple(options["survive"]))

    def disk_checkpoint_of(self, name):
        """The engine of the disk checkpoint that the engine ``name`` is to have; empty: none."""
        return self.disk_checkpoint if takes_disk_checkpoint(name) else ""


@dataclass(frozen=True)
class Choice:
    """``engine``, the engine of its ``disk_checkpoint`` (empty: none), and ``reasons`` (sentences): why no better one."""

    engine: str
    disk_checkpoint: str = ""
    reasons: tuple = ()


def check(name):
    """Refuse an unknown engine.

    :raises KupError: neither ``auto`` nor an engine.
    """
    if name not in NAMES:
        raise KupError(f"kup_engine is {name!r}, expected one of {', '.join(NAMES)}.")


def choose(wish, images, kernels, *, units=(), daemon=True, failed=None):
    """The engine that a `Wish` means on this node: the one that is named, or for ``auto`` the best that works.

    :param images: directory for checkpoint images.
    :param kernels: releases of both kernels.
    :param units: active `Unit`s, all of which an engine that ``auto`` takes has to be able to carry.
    :param daemon: whether a missing page daemon is a blocker; before its installation it is none.
    :param failed: dict engine → `Blocker`, of those that ``auto`` has tried.
    :returns: `Choice`.
    :raises Blocked: it cannot work here.
    """
    reasons = []
    for name in ENGINES if wish.engine == AUTO else [wish.engine]:
        found = _unasked_blockers(name, images, wish.survive) if wish.engine == AUTO else []
        found = found or _blockers(name, images, kernels, daemon, wish.disk_checkpoint_of(name))
        if wish.engine == AUTO and not found:
            found = _late_blockers(name, kernels, units, failed or {})
        if not found:
            return Choice(name, wish.disk_checkpoint_of(name), tuple(sentences(reasons)))
        reasons += found
    raise Blocked(reasons)


def takes_disk_checkpoint(name):
    """Whether the engine needs a disk checkpoint beside its own checkpoints to survive everything."""
    return not ENGINES[name].survives.issuperset(DANGERS)


def _blockers(name, images, kernels, daemon, disk_checkpoint=""):
    engine = ENGINES[name]
    found = engine.blockers(images, daemon)
    found += [blocker for kernel in kernels for blocker in engine.kernel_blockers(kernel, daemon)]
    found = about(found, engine=name)
    if disk_checkpoint:
        found += _blockers(disk_checkpoint, images, kernels, daemon)
        found += checks.disk_checkpoint_in_memory(images, filesystems.in_memory(images))
    return found


def _unasked_blockers(name, images, survive):
    """What keeps ``auto`` from the engine ``name``, while a person may ask for it.

    A disk checkpoint for ``auto``'s own sake would be of no use: its freeze comes on top, and is as long as that of the engine that writes
    it, which survives as much.
    """
    found = checks.engine_survives([danger for danger in survive if danger not in ENGINES[name].survives])
    if POWER_CUT in survive:
        found += checks.images_in_memory(images, filesystems.in_memory(images))
    return about(found, engine=name)


def _late_blockers(name, kernels, units, failed):
    """The same, of what takes longer to find out."""
    engine = ENGINES[name]
    found = checks.engine_packages(sorted({*engine.packages(kernels)} - {*direct.packages()}))
    found += [blocker for unit in units for blocker in engine.unit_blockers(unit)]
    found += [failed[name]] if name in failed else []
    return about(found, engine=name)


def images_bytes(name, disk_checkpoint, rss, shmem):
    """Estimated size of all images (see `Engine.images_bytes`)."""
    found = ENGINES[name].images_bytes(rss, shmem)
    if disk_checkpoint:
        found += ENGINES[disk_checkpoint].images_bytes(rss, shmem)
    return found


def packages(name, kernels):
    """Debian packages that the engine ``name`` lacks for ``kernels`` (releases); with ``auto`` what each of them needs."""
    return ENGINES[name].packages(kernels) if name in ENGINES else direct.packages()
