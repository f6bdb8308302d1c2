# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write the rollout's report on the controller; the module of the same name has the documentation."""

from __future__ import annotations

import time

from ansible.utils.display import Display

from ansible_collections.kup.fleet.plugins.modules.kup_report import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import _report
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction

#: Options that say something of the whole rollout.
_ROLLOUT = ("batches", "started", "kernel", "failed", "unreachable", "reason")


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        path = _report.file_of(arguments["directory"], arguments["run_id"])
        changes = {
            "row": _given(arguments["row"]),
            "rollout": {"run_id": arguments["run_id"], **_given({key: arguments[key] for key in _ROLLOUT})},
            "finished": time.time() if arguments["finish"] else None,
        }
        check_mode = self._task.check_mode
        report = _report.merge(_report.load(path), **changes) if check_mode else _report.update(path, **changes)
        lines = _report.table(report)
        if arguments["show"]:
            Display().display("\n".join(lines))
        return {"changed": not check_mode, "path": path, "report": report, "table": lines}


def _given(values):
    return {key: value for key, value in (values or {}).items() if value is not None}
