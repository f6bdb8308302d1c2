# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long the steps of a scenario took: tests/checks.py."""

from __future__ import annotations

from tests import checks

#: Seconds at which the lines come, as Ansible prints them: a heading with the first result, so the slow step's is late.
LINES = [
    (1, "PLAY [Update] *****"),
    (2, "TASK [Quick] *****"),
    (2, "ok: [node1]"),
    (62, ""),
    (62, "TASK [Slow] *****"),
    (62, "changed: [node1]"),
    (72, "changed: [node2]"),
    (73, "RUNNING HANDLER [Last] *****"),
    (73, "ok: [node1]"),
    (80, "PLAY RECAP *****"),
]


def test_a_step_has_the_time_before_its_heading(monkeypatch):
    moment = [0.0]
    monkeypatch.setattr(checks.time, "monotonic", lambda: moment[0])
    clock = checks.StepClock("scenario")
    for moment[0], line in LINES:
        clock.read(line + "\n")
    assert [(step.name, step.seconds) for step in clock.steps] == [("Quick", 1.0), ("Slow", 70.0), ("Last", 1.0)]


def test_a_step_that_is_ended_counts_to_its_end(monkeypatch):
    moment = [0.0]
    monkeypatch.setattr(checks.time, "monotonic", lambda: moment[0])
    clock = checks.StepClock("scenario")
    clock.read("TASK [Hangs] *****\n")
    moment[0] = 600.0
    clock.stop()
    assert [step.seconds for step in clock.steps] == [600.0]
