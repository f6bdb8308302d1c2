# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Take a node back to its old kernel and watch; the module of the same name has the documentation."""

from __future__ import annotations

from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.kup.fleet.plugins.module_utils._update import record
from ansible_collections.kup.fleet.plugins.plugin_utils._wait import WaitingAction

_NOTHING_TO_UNDO = ("fell_back", "aborted", "prepared", "none")


class ActionModule(WaitingAction):
    _VALID_ARGS = frozenset(("reason", "timeout", "run_id", "committed"))

    def follow(self):
        undone = record.RETURNABLE if boolean(self._task.args.get("committed", False)) else record.UNDECIDED
        last = self.settle()
        wanted = bool(last) and last.state() in undone
        if wanted:
            if self._task.check_mode:
                return {**self.outcome(last, last.state()), "changed": True}
            self.start("kup.fleet.kup_fallback", self._task.args)
            last = self.settle()
        if last is None:
            return {**self.outcome(self.look(), "lost"), "failed": True, "msg": self.lost()}
        result = self.outcome(last, last.state())
        sentence = _objection(last, given_up=wanted, restarted=last.boot_id != self._first.boot_id)
        return {**result, "failed": True, "msg": sentence} if sentence else result


def _objection(status, given_up, restarted):
    """What is wrong with a node that has come to an end: a sentence, or None."""
    state, reason = status.state(), status.record["REASON"] or "no reason is known"
    if state in _NOTHING_TO_UNDO:
        return None
    if given_up and state == "committed" and restarted:
        return (
            f"The node restarted on kernel {status.kernel} before the checkpoint was complete, its units started fresh."
        )
    if given_up and state in record.RETURNABLE:
        return f"The way back was given up, the applications go on with kernel {status.kernel}: {reason}"
    if state == "committed":
        return (
            f"The update to {status.kernel} is committed, expected a node on probation; "
            "take it back with 'ansible-playbook kup.fleet.kup_fallback -e kup_committed=true'."
        )
    if state == "interrupted":
        return "A switch was ended while it wrote the checkpoint; look at 'journalctl --unit=kup-switch' on the node."
    return f"The applications lost their state: {reason}"
