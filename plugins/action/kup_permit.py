# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Say whether a node may begin now, or wait for it; the module of the same name has the documentation."""

from __future__ import annotations

import time

from ansible.utils.display import Display

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.modules.kup_permit import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import _alerts, _control, _facts, _lock, _maintenance, _permit
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction

#: word of kup_control → verdict
_VERDICTS = {"go": "go", "pause": "wait", "abort": "stop"}


def _of_lock(directory, run_id, now):
    try:
        lost = _lock.renew(directory, run_id, now) if directory else ""
    except KupError as error:
        return _permit.State("wait", str(error).removesuffix("."))
    return _permit.State("stop", lost) if lost else _permit.GO


def _of_soak(until, now):
    if now >= until:
        return _permit.GO
    when = time.strftime("%H:%M:%S", time.localtime(until))
    return _permit.State(
        "wait", f"the nodes that were updated are to run until {when} before they are judged (kup_soak)"
    )


def _patience(arguments):
    place = arguments["alerts"]
    _alerts.check(place)
    wanted = _alerts.filtered(arguments["alerts_ignore"], arguments["alerts_match"])
    return _alerts.Patience(
        lambda: _alerts.ask(place, wanted) if place else _alerts.Answer(), arguments["alerts_patience"]
    )


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        facts = _facts.of_hosts(self._task, arguments["hosts"], task_vars["hostvars"])
        need = _maintenance.needed(facts, bool(arguments["permits"]), arguments["cutoff"], arguments["estimate"])
        windows, zone = _maintenance.parse(arguments["window"]), _maintenance.zone(arguments["zone"])
        _control.check(arguments["control"])
        alerts = _patience(arguments)

        def ask(now):
            answer = _control.ask(arguments["control"])
            states = [
                _of_lock(arguments["lock"], arguments["run_id"], now),
                _permit.State(_VERDICTS[answer.word], answer.reason),
                _maintenance.state(windows, zone, need, now, arguments["window_patience"]),
                _of_soak(arguments["soak_until"], now),
            ]
            if all(state == _permit.GO for state in states):
                return [alerts.state(now)]
            alerts.rest()
            return states

        def say(reason):
            Display().display(f"{arguments['node']} waits: {reason}.")

        # It holds one of Ansible's forks meanwhile, which is this node's own: host_pinned begins no more nodes than there are.
        permit = _permit.wait(ask, time.time, time.sleep, say)
        return {
            "changed": False,
            "reason": permit.reason,
            "waited": permit.waited,
            "permits": permit.times(arguments["permits"]),
        }
