# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""When what happened: lines "event seconds boot-id" in a file that both the library and the shell append to."""

from __future__ import annotations

import time

from ._files import read_text
from ._paths import BOOT, TIMELINE


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


def events(number):
    """All events so far, oldest first: list of {"event", "at" (seconds since the epoch), "boot"}.

    Those of the boot that restored checkpoint ``number`` come from systemd's own times.
    Clocks of two boots are joined by the hardware clock, which has whole seconds: a difference across a kexec is
    uncertain by one second.
    """
    found = []
    for line in read_text(TIMELINE, "").splitlines():
        event, at, boot = line.split()
        found.append({"event": event, "at": float(at), "boot": boot})
    found += _boot(read_text(f"{BOOT}/{number}/times", ""))
    return sorted(found, key=lambda event: event["at"])


def _boot(text):
    """Events of the running boot, from ``systemctl show`` blocks of the units that restored."""
    zero = time.time() - time.clock_gettime(time.CLOCK_MONOTONIC)
    if not text:
        return []
    found = {"kernel-start": 0.0}
    for block in text.split("\n\n"):
        values = dict(line.partition("=")[::2] for line in block.splitlines())
        entered = int(values.get("ActiveEnterTimestampMonotonic") or 0) / 1e6
        began = int(values.get("InactiveExitTimestampMonotonic") or 0) / 1e6
        main = int(values.get("ExecMainStartTimestampMonotonic") or 0) / 1e6
        name = values.get("Id", "")
        if name == "kup-pids.service":
            found["user-space"] = began
        elif name == "kup-hold.service":
            found["held"] = entered
        elif name == "kup-open.service":
            found["open"] = entered
        elif name and entered:
            found["network-awaited"] = min(found.get("network-awaited", began), began)
            found["restore-end"] = max(found.get("restore-end", 0), entered)
            if main:
                found["restore-start"] = min(found.get("restore-start", main), main)
    return [{"event": event, "at": zero + seconds, "boot": boot_id()} for event, seconds in found.items()]


