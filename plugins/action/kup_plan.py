# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check a rollout on the controller; the module of the same name has the documentation."""

from __future__ import annotations

import secrets
import time

from ansible import context

from ansible_collections.kup.fleet.plugins.modules.kup_plan import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import _plan
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        hosts = [str(host) for host in arguments["hosts"]]
        connections = _connections(hosts, task_vars["hostvars"])
        batches = _plan.examine(hosts, connections, _plain(arguments["variables"]))
        for host, variables in _own(hosts, task_vars["hostvars"]).items():
            _plan.check_policies(_plain(variables), f"{host}: ")
        now = time.time()
        run_id = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(now))}-{secrets.token_hex(3)}"
        return {"changed": False, "batches": batches, "run_id": run_id, "started": round(now, 3)}


def _connections(hosts, hostvars):
    default = context.CLIARGS.get("connection", "ssh")
    return {host: str(hostvars[host].get("ansible_connection", default)) for host in hosts if host in hostvars}


def _own(hosts, hostvars):
    """Dict host → its own values of the variables that may differ from host to host."""
    found = {host: hostvars[host] for host in hosts if host in hostvars}
    names = ("kup_units", "kup_on_unit_failure")
    return {host: {name: each[name] for name in names if name in each} for host, each in found.items()}


def _plain(value):
    """``value`` without the marks that Ansible puts on it, so that an error shows 'x' and no class name."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        return "".join(value)
    return value
