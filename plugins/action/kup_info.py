# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the task's module on its node; meta/runtime.yml names the other modules that share this action."""

from __future__ import annotations

from ansible_collections.kup.fleet.plugins.plugin_utils._node import NodeAction


class ActionModule(NodeAction):
    """The task's module with the task's own arguments. A node that cannot be reached has failed."""
