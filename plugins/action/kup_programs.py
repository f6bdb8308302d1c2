# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the nodes' programs on the controller; the module of the same name has the documentation."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.kup.fleet.plugins.modules.kup_programs import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import _programs, _sent
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction

_COLLECTION = Path(__file__).parents[2]
_FILES = str(_COLLECTION / "files")


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        built = _programs.provide(_FILES, dry=self._task.check_mode)
        return {"changed": bool(built), "built": built, "runtime": _sent.digest(_COLLECTION)}
