# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Say whether a rollout goes on; the module of the same name has the documentation."""

from __future__ import annotations

import time

from ansible_collections.kup.fleet.plugins.modules.kup_budget import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import _budget, _domains, _facts, _soak
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction

_LIMITS = {"max_failed": 0, "max_unreachable": 0, "batch_success": 1}


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        for name, least in _LIMITS.items():
            _budget.share(name, arguments[name], least)
        facts = _facts.of_hosts(self._task, arguments["hosts"], task_vars["hostvars"])
        limits = _budget.Limits(**{name: arguments[name] for name in (*_LIMITS, "way")})
        domains = _domains.Domains(arguments["domains"], arguments["domain_parallel"], arguments["domain_order"])
        budget = _budget.Budget(facts, arguments["lost"], arguments["batches"], limits, domains, arguments["waves"])
        node = arguments["node"]
        turn, why = budget.goes(node) if node else (False, budget.objection())
        soak, length = _soak.Soak(), _soak.Length(arguments["soak"], arguments["soak_node_hours"])
        if node and not _budget.under_way(facts[node]):
            about = (node, facts, arguments["batches"], length)
            # A node that its domain keeps waits, too: the others of its batch may begin after that.
            soak = _soak.due(*about, time.time()) if not budget.objection(node, with_domain=False) else soak
            why = why or _soak.objection(*about)
            turn = turn and not why
        if not node:
            why = why or _soak.unfinished(facts, arguments["batches"], length)
            soak = _soak.last(facts, arguments["batches"], length, time.time()) if not why else soak
        return {
            "changed": False,
            "turn": turn,
            "reason": why,
            "soak_nodes": list(soak.nodes),
            "soak_since": soak.since,
            "soak_until": soak.until,
            # Ansible itself understands the names without the ending.
            **{f"{name}_nodes": getattr(budget, name) for name in ("failed", "unreachable", "lost", "committed")},
        }
