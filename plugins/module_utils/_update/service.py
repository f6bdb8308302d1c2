# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The switch service as seen from Ansible: start it on the node, let it run alone, and report its result."""

from __future__ import annotations

import json
import os
import time

from .._boot import kernels
from .._errors import KupError
from .._files import read_text
from .._paths import MEMORY, RUN, RUNTIME
from .._run import run
from .._system.units import Unit
from . import lock, reasons, switch, timeline, unit_names
from . import record as records

# Seconds that a rehearsal may take for its beginning, and for each unit beside the freeze.
_BEGINNING, _UNIT = 60, 120
_LAST_WORD = 10  # seconds between the restored application and the last line of the timeline, at most


def start(unit, arguments, until=0.0):
    """Start ``cli ARGUMENTS`` (files/node/cli) as the transient service ``unit``; it needs neither this process nor a controller.

    Returns as soon as it runs. It is not collected when it fails: ``systemctl status`` tells, until the next start.

    :param until: uptime in seconds after which it must not begin any more, because whoever asked has gone on; 0 is none.
    :raises KupError: it is too late, or systemd could not start it, e.g. because the runtime is not installed.
    """
    run(["systemctl", "reset-failed", unit], check=False)
    uptime = time.clock_gettime(time.CLOCK_BOOTTIME)
    if until and uptime > until:
        raise KupError(
            f"{unit} was to begin until {until:.0f} s after the boot, and the node got so far after {uptime:.0f} s; run the playbook again when "
            "the node is less busy."
        )
    run([*_words(unit, "clean-up"), "--", f"{RUNTIME}/cli", *arguments])


def _words(unit, clean_up):
    """The beginning of a command line that starts a program of ours as ``unit``; what it leaves, files/node/switch/``clean_up`` puts right."""
    # KillMode: a switch that is killed must not take CRIU with it. OOMPolicy: a CRIU that took too much memory must not end the switch,
    # which undoes what that CRIU cannot undo any more.
    stop = f"ExecStopPost=/bin/sh {RUNTIME}/switch/{clean_up}"
    properties = ["Type=exec", "KillMode=process", "OOMPolicy=continue", stop]
    return ["systemd-run", "--quiet", f"--unit={unit}", *(f"--property={text}" for text in properties)]


def rehearse(names, limit):
    """Rehearse the dump of units (`rehearsal.rehearse`, same parameters and result) as a service, which needs not this process to end well.

    :raises KupError: it has failed.
    """
    words = [*_words(unit_names.REHEARSAL, "end-rehearsal"), "--wait", "--pipe", "--collect"]
    patience = _BEGINNING + len(names) * (limit + _UNIT)
    done = run(
        [*words, "--", f"{RUNTIME}/cli", "rehearse", str(limit), *names], stdin="", timeout=patience, check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1].removeprefix("kup: ")
        raise KupError(last or f"{unit_names.REHEARSAL} has ended with {done.returncode}; look at its journal.")
    return json.loads(done.stdout)


def go_back(reason, owner="", committed=False, until=0.0):
    """Start the way back to the preserved kernel, for ``reason``; returns as soon as it runs, also if it did already.

    :param owner: the run that asks; a node that another run works on is refused.
    :param committed: also from a kernel that is not on probation any more.
    :param until: see `start`.
    :raises KupError: there is no way back, or another operation is under way on the node.
    """
    if _goes_back():
        return
    with lock.exclusive():
        record = records.take(owner) if owner else records.load()
    verb, phases = ("return", records.RETURNABLE) if committed else ("fallback", records.UNDECIDED)
    sentence = switch.blocker(record, phases)
    if sentence:
        raise KupError(sentence)
    reasons.leave(reason)
    try:
        start(unit_names.FALLBACK, [verb], until)
    except KupError:
        reasons.withdraw(reason)
        raise


def _goes_back():
    """Whether the node has begun by itself, by its watch or its deadline, which holds the node's lock then."""
    done = run(["systemctl", "is-active", unit_names.FALLBACK, unit_names.DEADLINE], check=False)
    return not {"active", "activating"}.isdisjoint(done.stdout.split())


def status():
    """The result of the last switch of this node.

    :returns: dict with ``record`` (see `record.Record.as_dict`), ``boot_id``, ``kernel``, ``timeline`` (list of
        events), ``phases`` and ``outage_s`` of the last freeze (seconds), ``bytes`` (of images), ``memory`` (unit →
        statistics of its engine) and ``units`` (dicts with ``unit``, ``state`` and ``main_pid``).
    """
    record = records.load()
    boot = timeline.boot_id()
    give_up = time.monotonic() + _LAST_WORD
    while True:
        events = timeline.events()
        # The record moves on a moment before the timeline is complete.
        complete = any(event["event"] == "restore-done" and event["boot"] == boot for event in events)
        if complete or not os.path.exists(f"{RUN}/restore-done") or time.monotonic() > give_up:
            break
        time.sleep(0.1)
    return {
        "record": record.as_dict(),
        "boot_id": boot,
        "kernel": kernels.running(),
        "timeline": events,
        "phases": timeline.phases(events),
        "outage_s": timeline.outage(events),
        "bytes": int(record["BYTES"] or 0),
        "memory": json.loads(read_text(MEMORY, "{}")),
        "units": [_state(name) for name in record.units],
    }


def _state(name):
    unit = Unit(name)
    return {"unit": unit.name, "state": unit.properties["ActiveState"], "main_pid": unit.main_pid}


def uptime():
    """Seconds since the kernel started."""
    return float(read_text("/proc/uptime").split()[0])
