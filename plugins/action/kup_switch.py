# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Switch a node to its staged kernel and watch; the module of the same name has the documentation."""

from __future__ import annotations

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils._wait import WaitingAction


class ActionModule(WaitingAction):
    _VALID_ARGS = frozenset(("timeout", "run_id"))

    def follow(self):
        first = self.settle(lambda status: status.state() is not None or status.busy or status.phase == "switching")
        if first is None:
            return {**self.outcome(None, "lost"), "failed": True, "msg": f"Nothing was started. {self.lost()}"}
        if first.state() not in (None, "probation"):
            if self._task.check_mode:
                # Whatever the phase is: staging, too, was only looked at.
                return {**self.outcome(first, "prepared"), "changed": True}
            self.start("kup.fleet.kup_switch", self._task.args)
        last = self.settle()
        if last is None:
            return {**self.outcome(self.look(), "lost"), "failed": True, "msg": self.lost()}
        state, sentence = _verdict(last, restarted=last.boot_id != first.boot_id)
        result = self.outcome(last, state)
        return {**result, "failed": True, "msg": sentence} if sentence else result


def _verdict(status, restarted):
    """(state, what is wrong: a sentence or None) of a node that has come to an end."""
    state, reason = status.state(), status.record["REASON"] or "no reason is known"
    if state == "probation":
        return state, None
    if state == "aborted":
        return state, f"The switch was given up, the applications went on as before: {reason}"
    if state == "fell_back":
        lost = f", without the state of {', '.join(status.record.fresh_units)}" if status.record.fresh_units else ""
        return state, f"The node is back on kernel {status.kernel}{lost}: {reason}"
    if state == "failed":
        return state, f"The applications lost their state: {reason}"
    if state in ("prepared", "interrupted") and restarted:
        return (
            "failed",
            f"The node restarted on kernel {status.kernel} before the checkpoint was complete, its units started fresh.",
        )
    if state == "prepared":
        return "aborted", "The switch did not begin; 'journalctl --unit=kup-switch' on the node says why."
    if state == "interrupted":
        return "failed", "The switch was ended while it wrote the checkpoint; look at 'journalctl --unit=kup-switch'."
    raise KupError(f"The node is in phase {state!r} after the switch, expected 'probation'; another run was at work.")
