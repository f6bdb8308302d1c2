# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Maintenance windows of a rollout: no node begins that would not be finished when the window closes."""

from __future__ import annotations

import math
import zoneinfo
from dataclasses import dataclass

from ansible_collections.kup.fleet.plugins.module_utils import _windows
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _budget, _permit


@dataclass(frozen=True)
class Need:
    """``seconds`` that must be left of a window for a node to begin, and where that number comes from, a part of a sentence."""

    seconds: float
    source: str


def zone(name):
    """The time zone of a name such as "Europe/Berlin"; None, the controller's own, where it is empty.

    :raises KupError: the controller knows no such zone.
    """
    if not name:
        return None
    try:
        return zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError) as error:
        raise KupError(
            f"kup_window_zone is {name!r}, which the controller does not know; expected the name of a time zone such as "
            "'Europe/Berlin', with tzdata installed."
        ) from error


def parse(texts):
    """The elements of kup_window as a list of `_windows.Window`.

    :raises KupError: one is none.
    """
    return [_windows.parse("kup_window has the element", text) for text in texts]


def check_cutoff(texts, cutoff, estimate):
    """Both parameters as for `needed`.

    :raises KupError: the windows are never open for as long as the first node needs, so that none would ever begin.
    """
    name, seconds = ("kup_window_cutoff", cutoff) if cutoff else ("kup_switch_timeout", estimate)
    if texts and _windows.longest(parse(texts)) < seconds:
        raise KupError(
            f"{name} is {seconds} s, and kup_window ({'; '.join(texts)}) is never open for as long, so that no node would ever begin; "
            "expected a smaller number or a longer window."
        )


def needed(facts, switching, cutoff, estimate):
    """The `Need` of the next node.

    :param facts: dict node → its facts. Of the nodes that committed in this rollout the slowest counts.
    :param switching: whether the next node is ready for its switch; what it has done before does not count then.
    :param cutoff: seconds that the user wants to be left, 0 for none.
    :param estimate: seconds, where no node has committed.
    """
    if cutoff:
        return Need(cutoff, f"kup_window_cutoff is {cutoff} s")
    taken = [_seconds(about, switching) for about in facts.values() if _budget.committed(about)]
    longest = max((seconds for seconds in taken if seconds is not None), default=None)
    if longest is None:
        return Need(estimate, f"a node may take {estimate} s (kup_switch_timeout)")
    return Need(longest, f"a node takes {math.ceil(longest)} s")


def _seconds(about, switching):
    """What a node needed from its turn, or from its switch, to the end; None if this rollout has permitted it nothing.

    The last permit is that of its switch, the only one where it has nothing to do before.
    """
    permits, ended = about.get("__kup_permits") or [], _budget.ended(about)
    return ended - permits[-1 if switching else 0] if ended is not None and permits else None


def objection(windows, where, need, now):
    """Why no node may begin at ``now`` (seconds since the epoch): a sentence without its full stop, or empty.

    :param windows: as `parse` returns them; none: at any time.
    :param where: the `zone`.
    """
    if not windows:
        return ""
    found = _windows.closing(windows, now, where)
    if not found:
        return f"at {_windows.shown(now, where)} kup_window ({_texts(windows)}) is not open"
    closes, window = found
    if closes - now < need.seconds:
        return f"the window {window.text} closes at {_windows.shown(closes, where)}, {need.source}"
    return ""


def state(windows, where, need, now, patience):
    """The `_permit.State` at ``now`` of a node that would wait ``patience`` seconds for a window: see `objection`."""
    closed = objection(windows, where, need, now)
    if not closed:
        return _permit.GO
    opens = _next(windows, where, now)
    # A window that is too short for the node is not waited for.
    if opens - now > patience or objection(windows, where, need, opens):
        return _permit.State("stop", closed)
    return _permit.State("wait", f"kup_window ({_texts(windows)}) opens at {_windows.shown(opens, where)}")


def _next(windows, where, now):
    """When a window opens after the one around ``now``, or after ``now``."""
    found = _windows.closing(windows, now, where)
    return _windows.opening(windows, found[0] if found else now, where)


def outlook(texts, zone_name, now):
    """What the windows mean now: dict with ``windows``, ``zone``, ``open``, ``closes`` and ``opens`` (seconds since the epoch, or None)."""
    windows, where = parse(texts), zone(zone_name)
    found = _windows.closing(windows, now, where)
    closes = found[0] if found and found[0] != math.inf else None
    opens = _windows.opening(windows, now, where) if windows and not found else None
    return {"windows": texts, "zone": zone_name, "open": bool(found) or not windows, "closes": closes, "opens": opens}


def line(about):
    """An `outlook` for a person; empty where there are no windows."""
    if not about["windows"]:
        return ""
    where = zone(about["zone"])
    state = "open, and does not close"
    if about["closes"] is not None:
        state = f"open, and closes at {_windows.shown(about['closes'], where)}"
    elif about["opens"] is not None:
        state = f"not open, and opens at {_windows.shown(about['opens'], where)}"
    return f"window: {'; '.join(about['windows'])} ({about['zone'] or 'local time'}) is now {state}"


def _texts(windows):
    return "; ".join(window.text for window in windows)
