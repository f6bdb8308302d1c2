# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Say what a rollout would do with each node; the module of the same name has the documentation."""

from __future__ import annotations

import time

from ansible.utils.display import Display

from ansible_collections.kup.fleet.plugins.modules.kup_outlook import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import (
    _alerts,
    _control,
    _facts,
    _judge,
    _judge_metrics,
    _maintenance,
    _outlook,
    _report_files,
)
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        facts = _facts.of_hosts(self._task, arguments["hosts"], task_vars["hostvars"])
        places = [arguments[name] for name in ("batches", "waves", "domains")]
        nodes = _outlook.rows(facts, _facts.taken_out(task_vars), *places)
        run_id = arguments["run_id"]
        window = _maintenance.outlook(arguments["window"], arguments["zone"], time.time())
        control = _control.outlook(arguments["control"])
        wanted = _alerts.filtered(arguments["alerts_ignore"], arguments["alerts_match"])
        alerts = _alerts.outlook(arguments["alerts"], wanted)
        judgement = self._judgement(nodes, arguments)
        found = {"nodes": nodes, "window": window, "control": control, "alerts": alerts, "judgement": judgement}
        path = _report_files.write_plan(arguments["directory"], run_id, {"run_id": run_id, **found})
        lines = [*_outlook.table(nodes), _maintenance.line(window), _control.line(control), _alerts.line(alerts)]
        lines.append(_judge.line(judgement))
        Display().display("\n".join(filter(None, lines)))
        return {"changed": False, "path": path, "summary": _outlook.summary(nodes), **found}

    @staticmethod
    def _judgement(nodes, arguments):
        """Whether there are metrics to judge by, of the first node that is updated."""
        metrics, now = _judge_metrics.parse(arguments["judge"]), time.time()
        node = next((row["name"] for row in nodes if row["verdict"] == "update"), "")
        window = _judge.Window(now - arguments["soak"], now, arguments["judge_interval"])
        return _judge.outlook(
            arguments["judge_prometheus"], metrics if node else [], node, window, arguments["instances"]
        )
