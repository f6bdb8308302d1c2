# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Take a node on trial back to its old kernel and watch; the module of the same name has the documentation."""

from __future__ import annotations

from ansible_collections.kup.fleet.plugins.plugin_utils._wait import WaitingAction

_NOTHING_TO_UNDO = ("fell_back", "aborted", "prepared", "none")


class ActionModule(WaitingAction):
    _VALID_ARGS = frozenset(("reason", "timeout", "run_id"))

    def follow(self):
        last = self.settle()
        if last and last.state() == "trial":
            if self._task.check_mode:
                return {**self.outcome(last, "trial"), "changed": True}
            self.start("kup.fleet.kup_fallback", self._task.args)
            last = self.settle()
        if last is None:
            return {**self.outcome(self.look(), "lost"), "failed": True, "msg": self.lost()}
        result = self.outcome(last, last.state())
        sentence = _objection(last)
        return {**result, "failed": True, "msg": sentence} if sentence else result


def _objection(sight):
    """What is wrong with a node that has come to an end: a sentence, or None."""
    state, reason = sight.state(), sight.record["REASON"] or "no reason is known"
    if state in _NOTHING_TO_UNDO:
        return None
    if state == "trial":
        return f"The way back was given up, the applications go on with kernel {sight.kernel}: {reason}"
    if state == "committed":
        return (
            f"The update to {sight.kernel} is committed, expected a node on trial; update it to the old kernel instead."
        )
    if state == "interrupted":
        return "A switch was ended while it wrote the checkpoint; look at 'journalctl --unit=kup-switch' on the node."
    return f"The applications lost their state: {reason}"
