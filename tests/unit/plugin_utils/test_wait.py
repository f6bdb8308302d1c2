# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long the controller waits for a node that changes its kernel."""

import functools
import types

import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _wait


class Action(_wait.WaitingAction):
    """Sees ``looks``, one a second: (busy, pending, state), or None for no answer."""

    def __init__(self, monkeypatch, looks):
        self._task = types.SimpleNamespace(args={"timeout": 3})
        self._looks = iter(looks)
        self._now = 0.0
        self._deadline = 3.0
        self.rests = []
        clock = types.SimpleNamespace(monotonic=lambda: self._now, sleep=self.rests.append)
        monkeypatch.setattr(_wait, "time", clock)

    def look(self, took=1):
        self._now += took
        seen = next(self._looks)
        if seen is None:
            return None
        busy, pending, state = seen
        return types.SimpleNamespace(busy=busy, pending=pending, state=lambda: state)


WORKS, AWAY, DONE = (True, "", None), None, (False, "", "probation")
STANDS = (False, "", None)


def brings_in(pages):
    return (False, f"{pages} pages left", None)


@pytest.mark.parametrize(
    "looks",
    [
        [WORKS] * 9 + [AWAY] * 3 + [DONE],
        [STANDS, AWAY, STANDS, DONE],
        [AWAY, STANDS, *map(brings_in, range(9, 0, -1)), DONE],
    ],
)
def test_a_node_that_works_or_comes_back_in_time_is_waited_for(monkeypatch, looks):
    assert Action(monkeypatch, looks).settle().state() == "probation"


@pytest.mark.parametrize(
    "looks",
    [
        [WORKS] * 9 + [AWAY] * 4,
        [STANDS] * 4,
        [brings_in(9)] * 5,
    ],
)
def test_a_node_that_is_away_or_stands_for_too_long_is_lost(monkeypatch, looks):
    assert Action(monkeypatch, looks).settle() is None


@pytest.mark.parametrize(("took", "rest"), [(0.05, 0.5), (0.3, 1.2), (2, 5)])
def test_a_slow_node_is_looked_at_less_often(monkeypatch, took, rest):
    action = Action(monkeypatch, [WORKS, AWAY, DONE])
    monkeypatch.setattr(action, "look", functools.partial(action.look, took))
    action.settle()
    # Nobody knows what a node that is away would need.
    assert action.rests == [pytest.approx(rest), 0.5]


class Connection:
    """Records how long a node's ssh server had to greet, at each attempt."""

    def __init__(self):
        self.greet = None

    def has_option(self, name):
        return name == "timeout"

    def set_option(self, _name, seconds):
        self.greet = seconds

    def reset(self):
        pass


def test_a_node_that_has_been_silent_for_long_may_be_slow(monkeypatch):
    """Looks of a few seconds would never see it."""
    action = _wait.WaitingAction.__new__(_wait.WaitingAction)
    action._connection = Connection()
    action._task_vars = {"inventory_hostname": "node1"}
    now, looks = [0.0], []

    def execute(_command):
        looks.append((now[0], action._connection.greet))
        now[0] += action._connection.greet
        # It needs 25 seconds for a greeting.
        if action._connection.greet < 25:
            raise OSError("Connection timed out during banner exchange")
        return {"stdout": "answer"}

    monkeypatch.setattr(_wait, "time", types.SimpleNamespace(monotonic=lambda: now[0], sleep=lambda seconds: None))
    monkeypatch.setattr(_wait._node_status, "parse", lambda text: types.SimpleNamespace(text=lambda: text))
    action._low_level_execute_command = execute
    while not action.look():
        pass
    assert looks == [(at, 5) for at in range(0, 61, 5)] + [(65.0, 30)]


class Starts(Action):
    """Asks a node to start something, of which comes ``answer``; looks are (uptime, phase, busy)."""

    def __init__(self, monkeypatch, answer, looks):
        super().__init__(monkeypatch, looks)
        self._task.args["timeout"] = self._deadline = 1000
        self._last = self._seen(100.0, "prepared", busy=False)
        self.sent = {}
        self._answer = answer

    def _seen(self, uptime, phase, busy):
        state = None if busy else phase
        about = {"boot_id": "one", "record": {"REASON": ""}, "pending": "", "state": lambda: state}
        return types.SimpleNamespace(uptime=uptime, phase=phase, busy=busy, **about)

    def _module(self, name, arguments):
        self.sent = arguments
        return self._answer

    def look(self):
        self._now += 1
        return self._seen(*next(self._looks))


STANDS_STILL = (200.0, "prepared", False)


def test_a_start_that_is_refused_says_why(monkeypatch):
    with pytest.raises(_wait.KupError, match="No room"):
        Starts(monkeypatch, {"failed": True, "msg": "No room."}, []).start("kup.fleet.kup_switch", {})


@pytest.mark.parametrize("answer", [None, {"failed": True, "module_stdout": "", "msg": "MODULE FAILURE"}])
def test_a_node_whose_answer_has_not_come_may_still_begin(monkeypatch, answer):
    action = Starts(
        monkeypatch, answer, [STANDS_STILL, STANDS_STILL, (300.0, "checkpointing", True), (310.0, "aborted", False)]
    )
    action.start("kup.fleet.kup_switch", {"run_id": "r"})
    assert action.sent == {"run_id": "r", "op": "start", "until": 400.0}
    assert action.settle().phase == "aborted"


def test_it_has_not_begun_when_it_must_not_any_more(monkeypatch):
    action = Starts(monkeypatch, None, [STANDS_STILL, (405.0, "prepared", False), (411.0, "prepared", False)])
    action.start("kup.fleet.kup_switch", {})
    assert action.settle().uptime == 411.0


def test_a_node_that_has_answered_is_taken_at_its_word(monkeypatch):
    action = Starts(monkeypatch, {"changed": True}, [STANDS_STILL])
    action.start("kup.fleet.kup_switch", {})
    assert action.settle().phase == "prepared"
