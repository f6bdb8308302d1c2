# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a module on a node that may be gone."""

from __future__ import annotations

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase


class NodeAction(ActionBase):
    """Runs the module of the same name; a node that cannot be reached has failed.

    Ansible's own ``unreachable`` takes a host out of the play without ``rescue`` and ``always``: nobody would look
    after it, and the report would not know.
    """

    _requires_connection = True
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        try:
            result.update(self._execute_module(module_args=self.module_arguments(), task_vars=task_vars))
        except AnsibleConnectionFailure as error:
            node = (task_vars or {}).get("inventory_hostname", "The node")
            host = self._task.delegate_to or node
            # The node is not lost where another machine is, such as its balancer.
            result.update(failed=True, lost=host == node, msg=f"{host} cannot be reached: {str(error).strip()}")
        return result

    def module_arguments(self):
        """What the module gets: the task's own arguments."""
        return self._task.args
