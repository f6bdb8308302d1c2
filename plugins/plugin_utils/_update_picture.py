# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The picture of one update of one node, from the timeline in its row. The node's word is not trusted: what is no event is left out."""

from __future__ import annotations

from ansible_collections.kup.fleet.plugins.module_utils._update.timeline import PHASES
from ansible_collections.kup.fleet.plugins.plugin_utils import _svg
from ansible_collections.kup.fleet.plugins.plugin_utils._outage_picture import is_seconds

#: class of the bar, its name, the events that it lies between
STEPS = (
    ("dump", "freeze and dump", *PHASES["dump_s"]),
    ("plan", "boot plan and record", *PHASES["plan_s"]),
    ("jump", "kexec", *PHASES["kexec_s"]),
    # Of a boot that is given up, nothing else is left.
    ("kernel", "kernel whose restore fails", PHASES["kexec_s"][0], "restore-failed"),
    ("jump", "kexec back", "kexec", "kernel-start"),
    ("kernel", "kernel starts", *PHASES["kernel_s"]),
    ("early", "early boot", *PHASES["early_boot_s"]),
    ("restore", "restore", *PHASES["restore_s"]),
    ("open", "packets pass again", *PHASES["open_s"]),
    ("gate", "gate and commit", "open", "committed"),
)

WIDTH, LEFT, RIGHT = 880, 118, 24
BAR, PITCH = 24, 40
_COLUMNS = 3  # of the legend
_LONGEST = 1.9  # of the outage: the memory of a large application would push everything else together
_EVENTS = 500  # of a timeline, the newest


def since_freeze(timeline):
    """Events since the last freeze, in order: list of (event, seconds); empty without one.

    :param timeline: what a row has, see `_update.timeline.events`.
    """
    events = sorted(filter(_is_event, timeline if isinstance(timeline, list) else []), key=lambda event: event["at"])
    events = events[-_EVENTS:]
    freeze = max((event["at"] for event in events if event["event"] == "freeze"), default=None)
    if freeze is None:
        return []
    boots = {event["boot"] for event in events if event["at"] >= freeze}
    # A boot's clock may begin a second early.
    return [
        (event["event"], max(event["at"] - freeze, 0.0))
        for event in events
        if event["boot"] in boots
        and event["at"] >= freeze - 1
        and (event["event"] != "freeze" or event["at"] == freeze)
    ]


def _is_event(event):
    if not isinstance(event, dict) or not all(isinstance(event.get(key), str) for key in ("event", "boot")):
        return False
    at = event.get("at")
    # Neither of an infinity nor of no number is this true.
    return isinstance(at, (int, float)) and 0 <= at < 1e12


def steps(events):
    """The `STEPS` in ``events`` (see `since_freeze`): list of (class, name, begin, end) in the order of their ends."""
    found, begun = [], {}
    for event, at in events:
        ended = [step for step in STEPS if step[3] == event and step[2] in begun]
        found += [(kind, name, begun[first], at) for kind, name, first, _second in ended]
        for step in ended:
            begun.pop(step[2], None)
        # Units are restored one after the other: the first begins it.
        begun.setdefault(event, at)
    return found


def draw(row, top):
    """The `Picture` of ``row`` below ``top``, and its height in pixels; None where the row has no switch.

    Rows of bars: kernels, applications, numbered steps, memory that comes in. Below, the steps by number.
    """
    events = since_freeze(row.get("timeline"))
    if not events:
        return None
    at = dict(events)
    end = max(at.get("open", at.get("given-up", events[-1][1])), 0.001)
    drained = at.get("drained", end)
    last = min(max(drained * 1.04, end * 1.2), end * _LONGEST)
    picture = _svg.Picture(-0.14 * last, last, LEFT, WIDTH - RIGHT)
    bottom = top + 3 * PITCH + BAR + 8
    picture.grid(_svg.nice(last / 8), last, top - 8, bottom)
    for number, label in enumerate(("kernel", "applications", "steps", "memory")):
        picture.text(LEFT - 12, top + number * PITCH + 16, label, anchor="end")
    _draw_kernels(picture, top, row, events, last)
    _draw_applications(picture, top + PITCH, row, end, last, is_over="open" in at or "given-up" in at)
    if drained > end:
        words = f"lazy pages come in, until {drained:.0f} s"
        picture.add_bar(top + 3 * PITCH, BAR, "lazy", end, min(drained, last), words)
    return picture, _draw_steps(picture, top + 2 * PITCH, bottom + 18, steps(events), last)


def _draw_kernels(picture, y, row, events, last):
    old, new = (str(row.get(key) or "?").partition("+")[0] for key in ("kernel_before", "kernel_after"))
    at = dict(events)
    picture.add_bar(y, BAR, "old", -0.14 * last, at.get("planned", last), old)
    if "restore-failed" in at and "kexec" in at:
        picture.add_bar(y, BAR, "new", at.get("planned", 0), at["kexec"], "the new kernel")
    if "kernel-start" in at:
        picture.add_bar(y, BAR, "old" if new == old else "new", at["kernel-start"], last, new)


def _draw_applications(picture, y, row, end, last, is_over):
    outage = row.get("outage_s")
    words = f"outage {outage:.1f} s" if is_seconds(outage) else "outage"
    picture.add_bar(y, BAR, "serves", -0.14 * last, 0, "serve")
    picture.add_bar(y, BAR, "frozen", 0, end if is_over else last, words)
    if is_over:
        picture.add_bar(y, BAR, "serves", end, last, "serve")


def _draw_steps(picture, y, legend, found, last):
    """Draw the steps, and their names from ``legend`` on; returns where that ends."""
    for number, (kind, name, begin, end) in enumerate(found):
        if begin < last:
            picture.add_bar(y, BAR, kind, begin, min(end, last), str(number + 1))
        left, top = LEFT + number % _COLUMNS * 245, legend + number // _COLUMNS * 24
        picture.rectangle(left, top, 12, 12, kind)
        picture.text(left + 20, top + 11, f"{number + 1}  {name}  {end - begin:.1f} s")
    return legend + -(-len(found) // _COLUMNS) * 24 + 10
