# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The files in private places of units (`private_places`): those in memory are copied, and put in place by files/node/boot/restore-unit
in the restored unit's view; those on a disk stay where they are, and systemd-tmpfiles must not remove them."""

from __future__ import annotations

import os

from .._system import mountinfo
from .._system.private_places import TEMPORARY
from . import plan, trees

#: Keeps systemd-tmpfiles from ageing the directories themselves away, until the next boot: it knows only those of this boot.
KEPT = "/run/tmpfiles.d/kup-private.conf"


def copied(places):
    """Those of these places whose files are copied."""
    return [place for place in places if not place.directory]


def walk(main, place):
    """As `trees.walk`, for all that is in a place as the ``main`` process sees it, without what is mounted there."""
    directory = _open(main, place)
    try:
        yield from trees.walk_below(directory, place.point, _mounted(main))
    finally:
        os.close(directory)


def put_plan(unit, places, directory, room):
    """Write the plan of a unit into the boot plan's ``directory``, while it is frozen.

    :param room: counts what is copied: ``take`` (of a name and a `trees.Object`), and ``limit``, in bytes.
    """
    if not copied(places):
        return
    plans = plan.Plans(f"{directory}/private-{unit.name}")
    steps = []
    for place in copied(places):
        top = _top(unit.main, place)
        steps += [plan.step("private", unit.name, (place.point, *trees.rights(top.status)), required=True)]
        steps += trees.attribute_steps(top, unit.name)
        for found in trees.objects(walk(unit.main, place), room.limit):
            room.take(unit.name, found)
            steps += trees.steps(found, unit.name, True, plans)
    plans.put("files", steps)


def _top(main, place):
    directory = _open(main, place)
    try:
        return trees.of_directory(directory, place.point)
    finally:
        os.close(directory)


def _open(main, place):
    # systemd has mounted something there: no application can put a link in its place.
    return os.open(f"{main.path}/root{place.point}", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _mounted(main):
    return {row.place for row in mountinfo.of(main.path)}


def _in_temporary(places):
    """Directories of systemd's in the node's own /tmp and /var/tmp: each holds one of the ``places`` on a disk."""
    found = {os.path.dirname(place.directory) for place in places if place.directory}
    return sorted(path for path in found if os.path.dirname(path) in TEMPORARY)


def kept(places):
    """What `tmpfiles.steps` has to keep: dict path → status."""
    return {path: os.lstat(path) for path in _in_temporary(places)}


def steps(places, plans):
    """Steps that keep the directories of ``places`` for as long as this boot lasts."""
    found = _in_temporary(places)
    if not found:
        return []
    text = "# Of the kernel update by kup.fleet: private directories of restored units.\n" + "".join(
        f"x {path}\n" for path in found
    )
    return plan.text_steps(plans, KEPT, text)
