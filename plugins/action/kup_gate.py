# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judge a node's applications; the module of the same name has the documentation."""

from __future__ import annotations

from ansible_collections.kup.fleet.plugins.plugin_utils._node import NodeAction


class ActionModule(NodeAction):
    """What the module is given may hold secrets, so neither the result nor the node's log has it. ``no_log`` would hide what has failed, too."""

    def run(self, tmp=None, task_vars=None):
        # What the module's own no_log says, Ansible overrides by this variable.
        result = super().run(tmp, {**(task_vars or {}), "ansible_no_target_syslog": True})
        result.pop("invocation", None)
        return result
