# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The timeline of a switch: lines "event seconds boot-id" in a file to which both the library and the shell append."""

from __future__ import annotations

import re
import time

from .._files import read_text
from .._paths import RUN, TIMELINE

_LINE = re.compile(r"([a-z-]+) (\d+\.\d+) ([0-9a-f-]{36})")


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
    uncertain by one second. Lines of zeros and partial lines, which a power cut leaves, are skipped.
    """
    lines = map(_LINE.fullmatch, read_text(TIMELINE, "").replace("\0", "").splitlines())
    found = [{"event": line[1], "at": float(line[2]), "boot": line[3]} for line in lines if line]
    return sorted(found + _this_boot(), key=lambda event: event["at"])


def _this_boot():
    """Events that the shell of a restoring boot noted in seconds since that boot's start."""
    text = read_text(f"{RUN}/times")
    if text is None:
        return []
    zero = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    found = [("kernel-start", 0.0)] + [(event, float(at)) for event, at in map(str.split, text.splitlines())]
    return [{"event": event, "at": zero + at, "boot": boot_id()} for event, at in found]


#: phase → the events that it lies between
PHASES = {
    "dump_s": ("freeze", "dumped"),
    "plan_s": ("dumped", "planned"),
    "kexec_s": ("planned", "kernel-start"),
    "kernel_s": ("kernel-start", "user-space"),
    "early_boot_s": ("user-space", "restore-start"),
    "restore_s": ("restore-start", "restore-end"),
    "open_s": ("restore-end", "open"),
    # part of the restore, with recorded frames
    "bind_s": ("created", "bound"),
    # after the outage: lazy pages, and frames that were held whole for a fallback
    "drain_s": ("open", "drained"),
    "release_s": ("open", "released"),
}


def phases(events):
    """Seconds of each phase of the last switch: dict with the keys of `PHASES` that ``events`` cover."""
    at = _last_switch(events)
    return {
        phase: round(max(at[end] - at[begin], 0.0), 3)
        for phase, (begin, end) in PHASES.items()
        if begin in at and end in at
    }


def start(events):
    """Seconds from the last step of the old kernel to the restore in the last switch, as a text; empty if they are not known."""
    found = phases(events)
    parts = [found.get(phase) for phase in ("kexec_s", "kernel_s", "early_boot_s")]
    return "" if None in parts else f"{sum(parts):.1f}"


def outage(events):
    """Seconds from the last freeze until the network lock was released, and those of freezes before that were given up to be tried again; None
    without a freeze, or before the release.
    """
    at = _last_switch(events)
    end = at.get("open", at.get("given-up"))
    return None if end is None else round(max(end - at["freeze"], 0.0) + _given_up_before(events), 3)


def _given_up_before(events):
    """Seconds of the freezes before the last one, in the same boot."""
    last = [event for event in events if event["event"] == "freeze"][-1]
    began, seconds = None, 0.0
    for event in events[: events.index(last)]:
        if event["boot"] != last["boot"]:
            continue
        if event["event"] == "freeze":
            began = event["at"]
        elif event["event"] == "given-up" and began is not None:
            seconds, began = seconds + event["at"] - began, None
    return seconds


def _last_switch(events):
    """Times of the events from the last freeze on: dict event → seconds, the last where there are several."""
    freeze = max((event for event in events if event["event"] == "freeze"), key=lambda e: e["at"], default=None)
    if freeze is None:
        return {}
    # A boot's clock may begin up to a second early; no boot is shorter than that.
    since = {freeze["boot"]: freeze["at"]}
    return {e["event"]: e["at"] for e in events if e["at"] >= since.get(e["boot"], freeze["at"] - 1)}
