# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""System V objects of units: shared memory, semaphores and message queues, with their numbers.

The early boot makes semaphores, queues and unattached segments anew (``boot/N/environment/3-ipc.plan``). Attached segments are in
CRIU's images (`_criu.segments`), and of these images all is removed here that is none of the unit's. ``boot/N/ipc-UNIT`` has a line for
each object of a unit: what is to be done with it after the restore, and what is removed where the unit starts fresh.
"""

from __future__ import annotations

import collections
import glob
import os
import struct

from .._criu import protobuf, seen, segments
from .._errors import KupError
from .._system import processes, sysv
from . import plan

# What preflight has let pass may have grown since.
_GROWTH = 4
# criu/include/magic.h: IMG_COMMON_MAGIC and IPCNS_SHM_MAGIC.
_MAGICS = struct.pack("<II", 0x54564319, 0x46283044)
# images/ipc-shm.proto: ipc_shm_entry.desc; images/ipc-desc.proto: ipc_desc_entry.id.
_DESC, _ID = 1, 7
_NAMES = {"shm": "memory", "sem": "semaphores", "msg": "queue"}


def put_plan(plans, checkpoints):
    """Write the plan of these checkpoints' units, while all is frozen and the images are complete.

    :returns: dict name of the file ``ipc-UNIT`` → content, bytes; of units that have such objects.
    :raises KupError: it has become too much, or cannot be carried any more.
    """
    own = {each.unit.name: _unattached(each.unit) for each in checkpoints}
    claims = collections.Counter(thing for several in own.values() for thing in several)
    steps, done, found = [], set(), {}
    for checkpoint in checkpoints:
        unit = checkpoint.unit
        attached = _attached(checkpoint) if checkpoint.findings.segments else []
        steps += [plan.step("segment", unit.name, (thing.number,)) for thing in attached]
        _refuse_growth(unit, own[unit.name])
        steps += [_step(thing, unit, plans) for thing in own[unit.name] if thing not in done]
        done.update(own[unit.name])
        # Of what several units use nothing is removed where one of them starts fresh.
        lines = [_line(thing, unit) for thing in (*attached, *own[unit.name]) if claims[thing] < 2]
        if lines:
            found[f"ipc-{unit.name}"] = plan.FIRST_LINE + b"".join(lines)
    if steps:
        plans.put("3-ipc", steps)
    return found


def _unattached(unit):
    return seen.ipc_objects(unit, processes.Process(1).namespace("ipc"))


def _attached(checkpoint):
    """The attached segments of a frozen unit; its images keep no others."""
    unit, known = checkpoint.unit, {each.number: each for each in sysv.segments()}
    numbers = segments.attached(unit) & set(known)
    twin = segments.same_numbers(processes.in_cgroup(unit.cgroup), set(known))
    if twin:
        raise KupError(
            f"{unit.name}: a System V shared memory segment has the number of {twin}, which CRIU takes for the same; restart the unit."
        )
    keep(checkpoint.directory, numbers)
    return [known[number] for number in sorted(numbers)]


def _refuse_growth(unit, things):
    size = sum(thing.size for thing in things if thing.kind != "sem")
    if size > segments.COPIED_MAX * _GROWTH:
        raise KupError(
            f"{unit.name}: its System V queues and unattached segments have grown to {size >> 20} MiB, expected "
            f"{segments.COPIED_MAX * _GROWTH >> 20} MiB at most; remove what nobody needs (ipcrm)."
        )


def _step(thing, unit, plans):
    """The step that makes an object anew."""
    try:
        content = plans.add_content(sysv.content(thing))
        extra = {
            "shm": lambda: (thing.size, *thing.pids),
            "sem": lambda: (thing.size,),
            "msg": lambda: (sysv.capacity(thing), *thing.pids),
        }[thing.kind]()
    except OSError as error:
        raise KupError(f"{unit.name}: {error.filename} cannot be read: {error.strerror}.") from error
    words = (thing.number, thing.key & 0xFFFFFFFF, f"{thing.mode & 0o777:o}", *thing.rights, *extra, content)
    return plan.step(_NAMES[thing.kind], unit.name, words, required=True)


def _line(thing, unit):
    return plan.step("settle", unit.name, (thing.number, _NAMES[thing.kind], thing.key & 0xFFFFFFFF, f"{thing.mode:o}"))


def keep(directory, numbers):
    """Remove from CRIU's images in ``directory`` all System V objects but the segments with these ``numbers``.

    :raises KupError: an image is not as CRIU writes it, or has not all of them.
    """
    place = glob.escape(directory)
    for path in (*glob.glob(f"{place}/ipcns-msg-*.img"), *glob.glob(f"{place}/ipcns-sem-*.img")):
        os.unlink(path)
    missing = set(numbers)
    for path in glob.glob(f"{place}/ipcns-shm-*.img"):
        with open(path, "rb") as stream:
            entries = _entries(stream.read())
        # Not durably: the switch syncs all later.
        with open(path, "wb") as stream:
            stream.write(_MAGICS + b"".join(entry for number, entry in entries if number in numbers))
        missing -= {number for number, _entry in entries}
    if missing:
        raise KupError(f"The images in {directory} lack the System V shared memory segments {sorted(missing)}.")


def _entries(content):
    """[(number of the segment, entry)] of an image."""
    try:
        if not content.startswith(_MAGICS):
            raise ValueError
        found, at = [], len(_MAGICS)
        while at < len(content):
            (size,) = struct.unpack_from("<I", content, at)
            end = at + 4 + size
            if end > len(content):
                raise ValueError
            number = protobuf.number(content, at + 4, end, _DESC, _ID)
            if number is None:
                raise ValueError
            found.append((number, content[at:end]))
            at = end
    except (ValueError, IndexError, struct.error) as error:
        raise KupError("An image of System V shared memory is not as CRIU writes it.") from error
    return found
