# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check a rollout on the controller; the module of the same name has the documentation."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

from ansible import context
from ansible.errors import AnsibleError
from ansible.parsing.vault import EncryptedString

from ansible_collections.kup.fleet.plugins.modules.kup_plan import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import _drain, _maintenance, _plan
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction

_COLLECTION = Path(__file__).parents[2]


_TEMPLATE = object()


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        hosts = [str(host) for host in arguments["hosts"]]
        options, defaults = _plan.described(_COLLECTION)
        variables, balancers = _plan.Variables(options, defaults), _drain.described(_COLLECTION)
        connections, meant = {}, {}
        self._seen = {}
        for host in hosts:
            names = (*options, *balancers, "ansible_connection")
            given = self._of_host(host, names, task_vars["hostvars"], variables.refuse)
            connections[host] = given.pop("ansible_connection", context.CLIARGS.get("connection", "ssh"))
            meant[host] = variables.add(host, given)
            variables.add_drain(host, given, balancers)
        _plan.check_hosts(hosts, connections)
        variables.check()
        _maintenance.check_cutoff(variables.of_rollout("kup_window"), variables.of_rollout("kup_window_cutoff"))
        now = time.time()
        return {
            "changed": False,
            "batches": _plan.batches(hosts, variables.of_rollout("kup_batches")),
            "run_id": f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(now))}-{secrets.token_hex(3)}",
            "started": round(now, 3),
            "domains": variables.domains(),
            "instances": variables.instances(),
            **_plan.shared(meant),
        }

    def _of_host(self, host, names, hostvars, refuse):
        """Dict name → value, as this task would see it on ``host``: with the variables of the play and the defaults of the role."""
        manager = self._task.get_variable_manager()
        known = manager.get_vars(
            play=self._task.play, host=manager._inventory.get_host(host), task=self._task, include_hostvars=False
        )
        known["hostvars"] = hostvars
        templar = self._templar.copy_with_new_env(available_variables=known)
        found = {}
        for name in names:
            if name in known:
                try:
                    found[name] = self._evaluated(known[name], templar)
                except AnsibleError as error:
                    why = "its template is wrong" if name in _plan.SECRET else " ".join(str(error).split())
                    refuse(host, f"{name} cannot be evaluated: {why}")
        return found

    def _evaluated(self, raw, templar):
        """``raw`` with its templates evaluated. What has none is looked at once for all hosts that share it."""
        if id(raw) not in self._seen:
            # With the object itself, so that no other gets its id.
            self._seen[id(raw)] = (raw, _TEMPLATE if templar.is_template(raw) else _plain(raw))
        value = self._seen[id(raw)][1]
        return _plain(templar.template(raw)) if value is _TEMPLATE else value


def _plain(value):
    """``value`` without the marks that Ansible puts on it, so that an error shows 'x' and no class name."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    # A text of a vault is decrypted by str().
    if isinstance(value, (str, EncryptedString)):
        return "".join(str(value))
    return value
