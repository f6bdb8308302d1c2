# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Refuse misspelled variables; the module of the same name has the documentation."""

from __future__ import annotations

from pathlib import Path

from ansible.release import __version__ as ansible_core
from ansible.utils.vars import load_extra_vars

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.modules.kup_variables import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import _ansible_core, _tags, _variables
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction

_COLLECTION = Path(__file__).parents[2]


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        # Of all actions of a playbook this is the first.
        objection = _ansible_core.objection(
            ansible_core, (_COLLECTION / "meta/runtime.yml").read_text(encoding="utf-8")
        )
        if objection:
            raise KupError(objection)
        sentences = _tags.objections(task_vars["ansible_run_tags"], task_vars["ansible_skip_tags"])
        sentences += _variables.objections(self._given(task_vars), *_variables.declared(_COLLECTION))
        if sentences:
            raise KupError(" ".join(sentences))
        return {"changed": False}

    def _given(self, task_vars):
        """Dict place → names of variables. A host has those of the command line, too, and a task those of its host."""
        command_line = set(load_extra_vars(self._loader))
        hosts = {host: set(task_vars["hostvars"][host]) - command_line for host in task_vars["ansible_play_hosts_all"]}
        play = set(task_vars).difference(command_line, *hosts.values())
        return {
            "the command line": command_line,
            **{f"{_variables.HOST}{host}": names for host, names in hosts.items()},
            "the play": play,
        }
