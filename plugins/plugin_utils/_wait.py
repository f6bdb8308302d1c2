# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Watch a node that changes its kernel: what the two waiting action plugins share.

``ansible.builtin.reboot`` backs off up to 12 seconds, raises connection errors (the node is then *unreachable*, and
neither rescue nor always runs for it), and cannot tell the new kernel from a crash back into the old one. Here every
error of a look means "not back yet", looks come at a steady pace, and the node's own record says what has happened.
"""

from __future__ import annotations

import contextlib
import signal
import time

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _node_status

_PACE = 0.5  # seconds between two looks, at least
# A look takes processor time of the node, in the freeze, too: no more than a fifth of it. Seconds at most.
_REST, _LONGEST_REST = 4, 5

# Seconds after which a look is given up. Over a connection that answered a moment ago: it is dead, for its peer has
# gone away without a word. Over a new one: long enough for a login to a node that is still booting.
_STALE, _FRESH = 6, 20
_CONNECT = 5  # seconds until the node's ssh server has to greet

# A node that has been silent for `_SILENT` seconds may be up and slow, for example under load with few processors. Short looks would
# never see such a node, so looks take their time from then on: (seconds to greet, seconds for a look).
_SILENT = 60
_PATIENT = (30, 90)

_MODULE = 90  # seconds for a module, which is more than a look

# Seconds in which a node may begin what it was asked to start, by its own clock. A slow one needs long for a module, also when nobody listens
# to it any more; later than that it refuses, so that nothing begins behind the back of a controller that has gone on.
_BEGIN = 300
_MARGIN = 10  # seconds from its refusal, or from its last chance to refuse, until a look sees the service

_TRIES = 3  # for what must be asked once the node is back

# What only the node's own account tells, where there is none.
_UNKNOWN = {"timeline": [], "phases": {}, "outage_s": None, "bytes": 0, "memory": {}, "units": []}


class _TooLong(BaseException):
    """The time of `_within` is over. No Exception: a connection plugin must not take it for its own and try again."""


@contextlib.contextmanager
def _within(seconds):
    """Raise `_TooLong` after ``seconds``; a time limit of the task itself (keyword ``timeout``) stays in force."""

    def ring(_signal, _frame):
        raise _TooLong

    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, ring)
    left, _interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - began), 0.001))


class WaitingAction(ActionBase):
    """An action that follows a node through a switch. Subclasses define ``follow``."""

    _supports_async = False
    _supports_check_mode = True
    _VALID_ARGS = frozenset()

    # The last look was answered, so the connection may be a shared one that is older than the switch.
    _answering = False
    _answered = 0.0  # monotonic time of the last answer
    _first = _last = None
    _trouble = ""
    _told = ""
    # What the node was when it was asked to start something, and the uptime until which it may begin; None if the answer has come.
    _asked = None

    def run(self, tmp=None, task_vars=None):
        del tmp
        result = super().run(None, task_vars)
        self._task_vars = task_vars
        try:
            self._answered = time.monotonic()
            self._deadline = self._answered + self._seconds()
            with self._impatient():
                result.update(self.follow())
        except KupError as error:
            result.update(self._account(self._last, "refused"), failed=True, msg=str(error))
        return result

    def follow(self):
        """Do the work; returns the result's keys.

        :raises KupError: it cannot be done.
        """
        raise NotImplementedError

    def _seconds(self):
        value = self._task.args.get("timeout")
        try:
            seconds = int(value)
        except (TypeError, ValueError):
            seconds = 0
        if seconds <= 0:
            raise KupError(f"timeout is {value!r}, expected a number of seconds greater than 0.")
        return seconds

    @contextlib.contextmanager
    def _impatient(self):
        """Let the connection plugin neither wait long for a node that is away nor repeat by itself."""
        wanted = {"timeout": _CONNECT, "reconnection_retries": 0}
        names = [name for name in wanted if self._connection.has_option(name)]
        before = {name: self._connection.get_option(name) for name in names}
        try:
            for name in names:
                self._connection.set_option(name, wanted[name])
            yield
        finally:
            for name in names:
                self._connection.set_option(name, before[name])

    def look(self):
        """One `NodeStatus` of the node; None if it does not answer.

        :raises KupError: it answers, and its record is broken.
        """
        status = self._attempt(self._patience(), lambda: self._low_level_execute_command(_node_status.COMMAND))
        status = _node_status.parse(status["stdout"]) if status else None
        if status:
            self._answered = time.monotonic()
        self._answering = status is not None
        self._first, self._last = self._first or status, status or self._last
        self._tell(status.text() if status else "no answer")
        return status

    def _patience(self):
        """Seconds for the next look; the connection plugin gets its own share of them."""
        if self._answering:
            return _STALE
        patient = time.monotonic() - self._answered > _SILENT
        greet, seconds = _PATIENT if patient else (_CONNECT, _FRESH)
        if self._connection.has_option("timeout"):
            self._connection.set_option("timeout", greet)
        return seconds

    def _attempt(self, seconds, call):
        """Result of ``call``, or None after any error of the connection or ``seconds``."""
        try:
            with _within(seconds):
                return call()
        except _TooLong:
            self._trouble = f"no answer within {seconds} s"
        except Exception as error:  # a connection plugin may raise anything when its peer goes away
            self._trouble = " ".join(str(error).split())
        # What is shared (ControlPersist) may lead to a boot that is gone: the next attempt logs in anew.
        with contextlib.suppress(_TooLong, Exception), _within(_STALE):
            self._connection.reset()
        return None

    def _tell(self, text):
        """Show ``text`` if it is news."""
        if text != self._told:
            self._told = text
            Display().display(f"{self._task_vars['inventory_hostname']}: {text}")

    def settle(self, wanted=lambda status: status.state() is not None):
        """Look until ``wanted(status)``; returns that status, or None when the time is over.

        The time begins anew while the node is at work, which has limits of its own, and while memory comes in.
        """
        pending = ""
        while True:
            began = time.monotonic()
            status = self.look()
            took = time.monotonic() - began if status else 0
            if status and wanted(status) and not self._may_begin(status):
                return status
            if status and (status.busy or status.pending != pending):
                pending = status.pending
                self._deadline = time.monotonic() + self._seconds()
            if time.monotonic() > self._deadline:
                return None
            time.sleep(min(max(_PACE, _REST * took), _LONGEST_REST))

    def start(self, module, arguments):
        """Run ``module`` with ``op: start``.

        The node may jump before the answer is here, or be slow: no answer is no failure, the looks that follow will tell.

        :raises KupError: the module refused.
        """
        asked = self._last
        until = asked.uptime + min(_BEGIN, self._deadline - time.monotonic())
        answer = self._module(module, {**arguments, "op": "start", "until": until})
        # What a jumping node cuts off is no message of the module.
        if not answer or "module_stdout" in answer:
            self._asked = (asked, until)
        elif answer.get("failed"):
            raise KupError(answer["msg"])

    def _may_begin(self, status):
        """Whether the node may still be about to begin what it was asked to start."""
        if not self._asked:
            return False
        asked, until = self._asked
        stands = (asked.boot_id, asked.phase, asked.record["REASON"]) == (
            status.boot_id,
            status.phase,
            status.record["REASON"],
        )
        return stands and status.uptime < until + _MARGIN

    def _module(self, name, arguments):
        self._connection._shell.tmpdir = None  # the one of another boot may be gone
        answer = self._attempt(
            _MODULE,
            lambda: self._execute_module(module_name=name, module_args=arguments, task_vars=self._task_vars),
        )
        return answer

    def outcome(self, status, state):
        """The result's keys for the end ``state``; ``status`` is the last one, or None. The keys are always all there."""
        return {**self._account(status, state), **(self._report() if status else {})}

    def _account(self, status, state):
        first = self._first
        return {
            "state": state,
            "changed": bool(first and status and first.record != status.record),
            "boot_id_before": first.boot_id if first else None,
            "kernel_before": first.kernel if first else None,
            "boot_id": status.boot_id if status else None,
            "kernel": status.kernel if status else None,
            "record": status.record.as_dict() if status else None,
            **_UNKNOWN,
        }

    def _report(self):
        trouble = ""
        for _attempt in range(_TRIES):
            answer = self._module("kup.fleet.kup_switch", {"op": "status", "timeout": self._seconds()})
            if answer and not answer.get("failed"):
                return {key: answer[key] for key in (*_UNKNOWN, "record", "boot_id", "kernel")}
            trouble = answer.get("msg") if answer else self._trouble
        Display().warning(f"{self._task_vars['inventory_hostname']}: the node's timeline is not known: {trouble}")
        return {}

    def lost(self):
        """Sentence for a node that did not come to an end in time."""
        seconds = self._seconds()
        if self._answering:
            return f"The node came to no end within {seconds} s, it answers with: {self._told}; look at its journal."
        return f"The node did not answer within {seconds} s ({self._trouble}); look at its console."
