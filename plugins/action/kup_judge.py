# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judge updated nodes by metrics of a Prometheus; the module of the same name has the documentation."""

from __future__ import annotations

import time

from ansible_collections.kup.fleet.plugins.modules.kup_judge import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import _budget, _facts, _judge, _judge_metrics, _prometheus
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        place, instances = arguments["prometheus"], arguments["instances"]
        _prometheus.check("kup_judge_prometheus", place)
        for instance in instances.values():
            _judge_metrics.check_instance(instance)
        metrics = _judge_metrics.parse(arguments["metrics"])
        facts = _facts.of_hosts(self._task, arguments["hosts"], task_vars["hostvars"])
        sides = _judge.sides(facts, _budget.gone(facts, _facts.taken_out(task_vars)), arguments["nodes"])
        window = _judge.Window(arguments["since"], time.time(), arguments["interval"])
        outcome = _judge.patiently(
            lambda: _judge.judge(place, metrics, sides, window, instances), place, time.monotonic, time.sleep
        )
        return {
            "changed": False,
            "worse": [{"name": node, "reason": reason} for node, reason in outcome.worse.items()],
            "reason": outcome.reason,
            "metrics": list(outcome.metrics),
        }
