# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The audit trail of all rollouts: who began what, and what became of each node. A file of JSON lines that only grows."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import pwd

NAME = "audit.jsonl"
_NOBODY = 0xFFFFFFFF  # /proc/PID/loginuid of a process that no login has started


def line(event, who, run_id, node="", result="", reason=""):
    """A line of the trail.

    :param event: ``rollout_began``, ``node`` (its result is another now) or ``rollout_ended``.
    :param who: the user; empty is who has logged in.
    """
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    about = {"time": now, "event": event, "run_id": run_id, "user": who or user()}
    # In ASCII: no character of a reason begins a line or hides another.
    return json.dumps({**about, "node": node, "result": result, "reason": reason}) + "\n"


def changes(who, run_id, before, after):
    """Lines for the nodes whose result is another in ``after`` than in ``before``, both lists of rows."""
    known = {node["name"]: node["result"] for node in before}
    return [
        line("node", who, run_id, node["name"], node["result"], node.get("reason") or "")
        for node in after
        if node["result"] != known.get(node["name"], "pending")
    ]


def append(folder, lines):
    """Add ``lines`` to the trail in the `Folder`.

    :raises OSError: it cannot be written.
    """
    if lines:
        folder.append(NAME, "".join(lines))


def user():
    """Name of the user who has logged in, also behind sudo; of the process's user where the kernel does not know."""
    number = os.getuid()
    with contextlib.suppress(OSError, ValueError), open("/proc/self/loginuid", encoding="ascii") as stream:
        login = int(stream.read())
        number = number if login == _NOBODY else login
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
