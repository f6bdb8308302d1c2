# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Say whether a node may begin now; the module of the same name has the documentation."""

from __future__ import annotations

import time

from ansible_collections.kup.fleet.plugins.modules.kup_permit import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import _facts, _maintenance
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        facts = _facts.of_hosts(self._task, arguments["hosts"], task_vars["hostvars"])
        need = _maintenance.needed(facts, arguments["switching"], arguments["cutoff"], arguments["estimate"])
        windows, zone = _maintenance.parse(arguments["window"]), _maintenance.zone(arguments["zone"])
        now = time.time()
        return {"changed": False, "at": now, "reason": _maintenance.objection(windows, zone, need, now)}
