# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Show and write down what all nodes need; the module of the same name has the documentation."""

from __future__ import annotations

import time

from ansible.utils.display import Display

from ansible_collections.kup.fleet.plugins.modules.kup_status_report import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import _awx, _facts, _report_files, _status, _textfile
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        facts = _facts.of_hosts(self._task, arguments["hosts"], task_vars["hostvars"])
        found = _status.rows({host: about.get(arguments["looked"]) for host, about in facts.items()})
        lines = _status.table(found)
        Display().display("\n".join(lines))
        needs = {need: [row["name"] for row in found if row["needs"] == need] for need in _status.NEEDS}
        unknown = {row["name"]: row["reason"] for row in found if not row["status"]}
        result = {"changed": False, "table": lines, "needs": needs, "unknown": unknown}
        if self._task.check_mode:
            return result
        # The inventory of a slice says nothing of the nodes of the others.
        is_there = (lambda name: True) if _awx.sliced(task_vars) else set(task_vars["groups"]["all"]).__contains__
        return {**result, "changed": True, **self._written(arguments, found, is_there)}

    def _written(self, arguments, found, is_there):
        now = round(time.time(), 3)
        path, status = _report_files.write_status(
            arguments["directory"], lambda before: _status.merged(found, now, before, is_there)
        )
        if arguments["textfile"]:
            _textfile.write("kup_status_textfile", arguments["textfile"], _status.metrics(status["nodes"]))
        return {"path": path}
