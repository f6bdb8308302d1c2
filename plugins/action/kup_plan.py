# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check a rollout on the controller; the module of the same name has the documentation."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

from ansible import context
from ansible.template import trust_as_template
from ansible.utils.display import Display

from ansible_collections.kup.fleet.plugins.modules.kup_plan import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import (
    _awx,
    _drain,
    _given,
    _lock_place,
    _maintenance,
    _pace,
    _plan,
)
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction

_COLLECTION = Path(__file__).parents[2]


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        hosts = [str(host) for host in arguments["hosts"]]
        options, defaults = _plan.described(_COLLECTION)
        defaults = {name: self._evaluated(value) for name, value in defaults.items()}
        given = _given.Given(self._task, self._templar, task_vars["hostvars"], _plan.SECRET)
        if arguments["only"]:
            return self._meant(hosts, {name: options[name] for name in arguments["only"]}, defaults, given)
        _awx.check(task_vars)
        is_back = arguments["way"] == "back"
        unused = _plan.REQUIRED if is_back else ()
        options = {name: option for name, option in options.items() if name not in unused}
        return self._planned(hosts, options, defaults, given, is_back)

    def _evaluated(self, default):
        is_template = isinstance(default, str) and "{{" in default
        return str(self._templar.template(trust_as_template(default))) if is_template else default

    def _meant(self, hosts, options, defaults, given):
        """Without a rollout: what the variables ``options`` mean."""
        variables = _plan.Variables(options, defaults)
        meant = {
            host: variables.add(host, given.of_host(host, options, variables.refuse), given.hidden) for host in hosts
        }
        variables.check()
        return {"changed": False, **_plan.shared(meant)}

    def _planned(self, hosts, options, defaults, given, is_back):
        variables, balancers = _plan.Variables(options, defaults), _drain.described(_COLLECTION)
        connections, undecided, meant = {}, [], {}
        for host in hosts:
            names = (*options, *balancers, "ansible_connection", *_pace.CHOICES)
            values = given.of_host(host, names, variables.refuse)
            connections[host] = values.pop("ansible_connection", context.CLIARGS.get("connection", "ssh"))
            if values.keys().isdisjoint(_pace.CHOICES):
                undecided.append(str(connections[host]))
            meant[host] = variables.add(host, values, given.hidden)
            variables.add_drain(host, values, balancers)
        for sentence in _pace.objections(context.CLIARGS.get("forks"), len(hosts), undecided):
            Display().warning(sentence)
        _plan.check_hosts(hosts, connections)
        variables.check()
        if not is_back:
            limits = (variables.of_rollout("kup_window_cutoff"), variables.least_timeout)
            _maintenance.check_cutoff(variables.of_rollout("kup_window"), *limits)
        passing = _lock_place.report_objection(variables.of_rollout("kup_report_dir"))
        if passing:
            Display().warning(passing)
        now = time.time()
        return {
            "changed": False,
            "batches": _plan.batches(hosts, variables.of_rollout("kup_batches")),
            "run_id": f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(now))}-{secrets.token_hex(3)}",
            "started": round(now, 3),
            "domains": variables.domains(),
            "instances": variables.instances(),
            "extras": variables.extras(),
            "limits": variables.limits("back" if is_back else "update"),
            **_plan.shared(meant),
        }
