# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at a node; the module of the same name has the documentation."""

from __future__ import annotations

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _plan
from ansible_collections.kup.fleet.plugins.plugin_utils._node import NodeAction


class ActionModule(NodeAction):
    """Looks at the selector before Ansible makes a text of it: a number is a release whose quotes are missing."""

    def run(self, tmp=None, task_vars=None):
        try:
            _plan.check_kernel(self._task.args.get("kernel", "newest"))
        except KupError as error:
            return {"failed": True, "msg": str(error)}
        return super().run(tmp, task_vars)
