# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Divide prepared nodes into batches; the module of the same name has the documentation."""

from __future__ import annotations

from ansible_collections.kup.fleet.plugins.modules.kup_batches import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import _budget, _domains, _facts, _plan, _soak
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        facts = _facts.of_hosts(self._task, arguments["hosts"], task_vars["hostvars"])
        domains = _domains.Domains(arguments["domains"], arguments["domain_parallel"], arguments["domain_order"])
        out = _budget.out(facts, arguments["lost"])
        begun, batches = _budget.divide(
            facts, arguments["lost"], lambda nodes: _plan.batches(domains.sorted(nodes, out), arguments["sizes"])
        )

        def divide(batch):
            # What an earlier rollout has begun is away already, whatever its domain is.
            return [batch] if batch in begun else domains.waves(batch)

        length = _soak.Length(arguments["soak"], arguments["soak_node_hours"])
        waves = _soak.waves(begun + batches, length, divide)
        return {"changed": False, "batches": begun + batches, "waves": waves, "lost": arguments["lost"]}
