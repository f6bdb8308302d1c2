# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Take a node on trial back to its old kernel and watch; the module of the same name has the documentation."""

from __future__ import annotations

from ansible_collections.kup.fleet.plugins.plugin_utils._wait import WaitingAction

_NOTHING_TO_UNDO = ("fell_back", "aborted", "prepared", "none")


class ActionModule(WaitingAction):
    _VALID_ARGS = frozenset(("reason", "timeout", "run_id"))

    def follow(self):
        run_id, reason = self._task.args.get("run_id"), self._task.args.get("reason")
        last = self.settle()
        if last and last.state() == "trial":
            if self._task.check_mode:
                return {**self.outcome(last, "trial", run_id), "changed": True}
            arguments = {"reason": reason, "timeout": self._seconds()}
            self.start("kup.fleet.kup_fallback", {**arguments, "run_id": run_id} if run_id else arguments)
            last = self.settle()
        if last is None:
            return {**self.outcome(self.look(), "lost", run_id), "failed": True, "msg": self.lost()}
        result = self.outcome(last, last.state(), run_id)
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
