# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write the rollout's report on the controller; the module of the same name has the documentation."""

from __future__ import annotations

import time

from ansible.utils.display import Display

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._metrics import textfile
from ansible_collections.kup.fleet.plugins.modules.kup_report import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import (
    _awx,
    _lock,
    _report,
    _report_files,
    _report_page,
    _rollout_metrics,
    _textfile,
)
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction

#: Options that say something of the whole rollout.
_ROLLOUT = ("batches", "started", "way", "kernel", "judged", "failed", "unreachable", "reason")


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        row = _given(arguments["row"])
        rollout = _given({key: arguments[key] for key in _ROLLOUT})
        is_end = arguments["finish"] or arguments["killed"]
        if row and (rollout or is_end or arguments["show"]):
            raise KupError("row was given with options of the whole rollout, expected either; make two tasks of it.")
        if row:
            return self._note(arguments, row, _awx.user(task_vars))
        return self._merge(arguments, rollout, is_end, _awx.user(task_vars))

    def _note(self, arguments, row, user):
        """The result of a call for one node: it has this node's row only, whatever the number of nodes."""
        if not arguments["run_id"]:
            raise KupError("run_id is missing, expected that of the rollout which the row belongs to.")
        path = _report_files.path_of(arguments["directory"], arguments["run_id"])
        if not self._task.check_mode:
            row = _written(arguments["directory"], arguments["run_id"], row, user)
            if arguments["textfile"]:
                self._measure(arguments, is_row=True)
            if arguments["lock"]:
                _renew(arguments["lock"], arguments["run_id"])
        return {"changed": not self._task.check_mode, "path": path, "row": row}

    def _merge(self, arguments, rollout, is_end, user):
        directory, shows = arguments["directory"], arguments["show"]
        run_id = arguments["run_id"] or _report_files.newest(directory)
        path = _report_files.path_of(directory, run_id)
        if self._task.check_mode:
            report = _report_files.read(directory, run_id)
            return {"changed": False, "path": path, "rollout": report["rollout"], **_shown(report, shows)}
        finished = time.time() if is_end else None
        report = _report_files.update(directory, run_id, rollout, finished, arguments["killed"], user)
        if arguments["textfile"]:
            self._measure({**arguments, "run_id": run_id})
        result = {"changed": True, "path": path, "rollout": report["rollout"], **_shown(report, shows)}
        if is_end or shows:
            result["page"] = _report_files.write_page(directory, run_id, _report_page.render(report))
            result["summary"] = _report.summary(report)
            result["release"] = _report.release(report)
        return result

    def _measure(self, arguments, is_row=False):
        """Write the metrics of the rollout, if it is the newest, and of a row if it is time. What is wrong is said and fails nothing."""
        directory, run_id = arguments["directory"], arguments["run_id"]
        try:
            if _report_files.newest(directory) != run_id or (is_row and not self._is_time(arguments)):
                return
            text = _rollout_metrics.text(_report_files.read(directory, run_id), time.time())
            _textfile.write("kup_rollout_textfile", arguments["textfile"], text)
        except KupError as error:
            Display().warning(str(error))

    def _is_time(self, arguments):
        rows = _report_files.number_of_rows(arguments["directory"], arguments["run_id"])
        return textfile.age(arguments["textfile"], time.time()) >= _rollout_metrics.pace(rows)


def _written(directory, run_id, row, user):
    """All that is known of the row's node. A row that cannot be written is said, and the update of its node goes on."""
    try:
        return _report_files.write_row(directory, run_id, row, user)
    except _report_files.Inaccessible as error:
        Display().warning(str(error))
        return row


def _renew(directory, run_id):
    """Renew the lock. Nodes that are under way are finished whoever has it: what is wrong is said and fails nothing."""
    try:
        trouble = _lock.renew(directory, run_id, time.time())
    except KupError as error:
        trouble = str(error).removesuffix(".")
    if trouble:
        Display().warning(f"{trouble}.")


def _shown(report, shows):
    lines = _report.table(report) if shows else []
    if lines:
        Display().display("\n".join(lines))
    return {"table": lines} if shows else {}


def _given(values):
    return {key: value for key, value in (values or {}).items() if value is not None}
