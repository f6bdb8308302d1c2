# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare the releases that nodes would be updated to; the module of the same name has the documentation."""

from __future__ import annotations

from ansible.utils.display import Display

from ansible_collections.kup.fleet.plugins.modules.kup_release import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import _facts, _release
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        facts = _facts.of_hosts(self._task, arguments["hosts"], task_vars["hostvars"])
        for sentence in _release.older(facts):
            Display().warning(sentence)
        return {"changed": False, "differing": _release.differing(facts)}
