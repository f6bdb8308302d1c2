# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Which processes a signal had stopped before the freeze.

A restore leaves all of them stopped. ``boot/N/tasks-UNIT`` has a line ``PROCESS run`` or ``PROCESS stopped`` for each, and the next boot lets
those run that did (files/node/lib/trees.sh), children first: a parent that waits for stopped children must not see one.
"""

from __future__ import annotations

from .core_image import CoreImage


def lines(processes, images, parents):
    """The lines of these `Process`es, while the tree is frozen and its images are complete.

    :param parents: `processes.parents`.
    :param images: the directory with CRIU's images. Only they tell: a process that CRIU holds looks the same in /proc in both cases.
    :raises KupError: an image is broken.
    """
    for process in sorted(processes, key=lambda one: _depth(one.pid, parents), reverse=True):
        try:
            with open(f"{images}/core-{process.pid}.img", "rb") as stream:
                image = CoreImage(stream.read())
        except FileNotFoundError:  # it has ended
            continue
        yield f"{process.pid} {'stopped' if image.is_stopped else 'run'}"


def _depth(pid, parents):
    """The number of its ancestors."""
    depth = 0
    while pid in parents:
        pid, depth = parents[pid], depth + 1
    return depth
