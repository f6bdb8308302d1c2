# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""When what happened: lines "event seconds boot-id" in a file that both the library and the shell append to."""

from __future__ import annotations

import time

from ._files import read_text
from ._paths import RUN, TIMELINE


def begin():
    """Start a new timeline."""
    with open(TIMELINE, "w", encoding="ascii"):
        pass


def mark(event):
    """Note that ``event`` happens now."""
    with open(TIMELINE, "a", encoding="ascii") as stream:
        stream.write(f"{event} {time.time():.6f} {boot_id()}\n")


def boot_id():
    """Identity of the running boot."""
    return read_text("/proc/sys/kernel/random/boot_id")


def events():
    """All events so far, oldest first: list of {"event", "at" (seconds since the epoch), "boot"}.

    Clocks of two boots are joined by the hardware clock, which has whole seconds: a difference across a kexec is
    uncertain by one second.
    """
    found = []
    for line in read_text(TIMELINE, "").splitlines():
        event, at, boot = line.split()
        found.append({"event": event, "at": float(at), "boot": boot})
    return sorted(found + _this_boot(), key=lambda event: event["at"])


def _this_boot():
    """Events that the shell of a restoring boot noted in seconds since that boot's start."""
    text = read_text(f"{RUN}/times")
    if text is None:
        return []
    zero = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    found = [("kernel-start", 0.0)] + [(event, float(at)) for event, at in map(str.split, text.splitlines())]
    return [{"event": event, "at": zero + at, "boot": boot_id()} for event, at in found]
