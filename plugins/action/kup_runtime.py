# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path

from ansible_collections.kup.fleet.plugins.plugin_utils import _programs, _sent
from ansible_collections.kup.fleet.plugins.plugin_utils._node import NodeAction

_COLLECTION = Path(__file__).parents[2]


class ActionModule(NodeAction):
    """Sends all files in one go, and of the programs those that the node lacks: by the copy module each file would cost two more modules."""

    def module_arguments(self):
        if self._task.args.get("state") == "absent":
            return self._task.args
        programs = _programs.packed(str(_COLLECTION / "files"), self._task.args.get("installed") or {})
        texts = _sent.texts(_COLLECTION)
        return self._task.args | texts | {"programs": programs, "sent": _sent.digest(_COLLECTION, texts)}
