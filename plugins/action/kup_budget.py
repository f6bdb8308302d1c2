# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Say whether a rollout goes on; the module of the same name has the documentation."""

from __future__ import annotations

import itertools
import time

from ansible_collections.kup.fleet.plugins.modules.kup_budget import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import _budget, _domains, _facts, _soak
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        plan, divided, node = task_vars["kup_rollout"], task_vars["kup_divided"], arguments["node"]
        limits, batches = plan["limits"], divided["batches"]
        facts = _facts.of_hosts(self._task, itertools.chain(*plan["batches"]), task_vars["hostvars"])
        budget = _budget.Budget(
            facts,
            _facts.taken_out(task_vars),
            batches,
            _budget.Limits(
                **{name: limits[name] for name in ("max_failed", "max_unreachable", "batch_success", "way")}
            ),
            _domains.Domains(plan["domains"], limits["domain_parallel"], limits["domain_order"]),
            divided["waves"],
        )
        now = time.time()
        turn, why = budget.goes(node) if node else (False, budget.objection())
        soak, length = _soak.Soak(), _soak.Length(limits["soak"], limits["soak_node_hours"])
        if node and not _budget.under_way(facts[node]):
            about = (node, facts, batches, length)
            # A node that its domain keeps waits, too: the others of its batch may begin after that.
            soak = _soak.due(*about, now) if not budget.objection(node, with_domain=False) else soak
            why = why or _soak.objection(*about)
            turn = turn and not why
        if not node:
            why = why or _soak.unfinished(facts, batches, length)
            soak = _soak.last(facts, batches, length, now) if not why else soak
        return {
            "changed": False,
            "turn": turn and not self._task.check_mode,
            "at": now,
            "reason": why,
            "soak_nodes": list(soak.nodes),
            "soak_since": soak.since,
            "soak_until": soak.until,
            **({} if node else _nodes(budget)),
        }


def _nodes(budget):
    """What has become of which nodes. Not for each node whose turn it may be: Ansible keeps what each has been told."""
    # Ansible itself understands the names without the ending.
    return {f"{name}_nodes": getattr(budget, name) for name in ("failed", "unreachable", "lost", "committed")}
