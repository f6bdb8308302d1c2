# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check a rollout on the controller; the module of the same name has the documentation."""

from __future__ import annotations

import secrets
import time

from ansible import context
from ansible.plugins.action import ActionBase

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _plan

_WANTED = ("kernel", "units", "engine", "rounds_max", "freeze_target", "batches", "max_failed", "watch_interval")


class ActionModule(ActionBase):
    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False
    _VALID_ARGS = frozenset((*_WANTED, "hosts", "timeouts"))

    def run(self, tmp=None, task_vars=None):
        del tmp
        result = super().run(None, task_vars)
        arguments = self._task.args
        wanted = {name: _plain(arguments.get(name)) for name in _WANTED}
        wanted["timeouts"] = _plain(arguments.get("timeouts") or {})
        hosts = [str(host) for host in arguments.get("hosts") or []]
        try:
            batches = _plan.examine(hosts, _connections(hosts, task_vars["hostvars"]), wanted)
        except KupError as error:
            result.update(failed=True, msg=str(error))
            return result
        now = time.time()
        run_id = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(now))}-{secrets.token_hex(3)}"
        result.update(changed=False, batches=batches, run_id=run_id, started=round(now, 3))
        return result


def _connections(hosts, hostvars):
    default = context.CLIARGS.get("connection", "ssh")
    return {host: str(hostvars[host].get("ansible_connection", default)) for host in hosts if host in hostvars}


def _plain(value):
    """``value`` without the marks that Ansible puts on it, so that an error shows 'x' and no class name."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        return "".join(value)
    return value
