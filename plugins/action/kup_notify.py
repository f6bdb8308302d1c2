# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tell others how a rollout goes; the module of the same name has the documentation."""

from __future__ import annotations

from ansible.utils.display import Display

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.modules.kup_notify import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import _facts, _notify, _report_files
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction

_ONCE = ("canary", "stop")


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        event = self._event(arguments, task_vars["hostvars"])
        if not event or self._task.check_mode:
            return {"changed": False, "event": event}
        try:
            self._tell(event, arguments, task_vars)
        except KupError as error:
            Display().warning(f"Nobody was told of the event {event!r}: {error}")
        except Exception as error:  # its text may have an address, and no node waits, or fails, for want of a message
            Display().warning(f"Nobody was told of the event {event!r}: {type(error).__name__}")
        return {"changed": False, "event": event}

    def _event(self, arguments, hostvars):
        if arguments["event"] != "turn":
            return arguments["event"]
        batches = arguments["batches"]
        facts = _facts.of_hosts(self._task, batches[0] if batches else [], hostvars)
        return _notify.event_of_turn(arguments["reason"], arguments["node"], batches, facts)

    def _tell(self, event, arguments, task_vars):
        # No option of the task: those are shown to callbacks. Nor a part of the result.
        receivers = _notify.parse(self._templar.template(task_vars["kup_notify"]))
        directory, run_id = arguments["directory"], arguments["run_id"]
        if event in _ONCE and not _report_files.claim(directory, run_id, event):
            return
        message = _notify.about(event, _report_files.read(directory, run_id), arguments["reason"])
        for sentence in _notify.deliver(receivers, message):
            Display().warning(sentence)
