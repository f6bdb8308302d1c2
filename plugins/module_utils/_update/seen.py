# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What can be seen of a node that may stand in the way of an update; `checks` judge it."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

from .._boot import kernels
from .._paths import RUNTIME, STATE
from .._system import filesystems
from .checks import IMAGES_FACTOR, KERNELS_BYTES


@dataclass(frozen=True)
class Node:
    """What `look` has seen of a node.

    ``selector``: the kernel that was asked for, ``wanted``: its release or empty, ``installed``: releases; ``probation``: an
    update waits for its commit; ``runtime`` and ``state``: directories, of each whether the next boot has it ``early``;
    ``state_free``: bytes; ``images``: directory, with the reason why it is ``lost`` in a switch or none, and the bytes that
    are ``free`` and ``needed``; ``together``: images and state share a file system, and ``needed`` is for both.
    """

    selector: str
    wanted: str
    installed: list
    probation: bool
    runtime: str
    runtime_early: bool
    state: str
    state_early: bool
    state_free: int
    images: str
    images_lost: str
    images_free: int
    images_needed: int
    together: bool


def node(selector, wanted, images, images_bytes, phase):
    """Look at the node; returns a `Node`.

    :param images_bytes: what the engine writes, about.
    """
    together = filesystems.of(images) == filesystems.of(STATE)
    early = {_device("/"), _device("/usr")}
    return Node(
        selector=selector,
        wanted=wanted,
        installed=kernels.installed(),
        probation=phase == "probation",
        runtime=RUNTIME,
        runtime_early=_device(RUNTIME) in early,
        state=STATE,
        state_early=_device(STATE) in early,
        state_free=_free(STATE),
        images=images,
        images_lost=filesystems.why_lost(images),
        images_free=_free(images),
        images_needed=int(images_bytes * IMAGES_FACTOR) + (KERNELS_BYTES if together else 0),
        together=together,
    )


def _device(path):
    return os.stat(filesystems.existing(path)).st_dev


def _free(path):
    return shutil.disk_usage(filesystems.existing(path)).free
