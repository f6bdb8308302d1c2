# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Take, renew and release the lock of a rollout; the module of the same name has the documentation."""

from __future__ import annotations

import time

from ansible.utils.display import Display

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.modules.kup_lock import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import _lock, _lock_place
from ansible_collections.kup.fleet.plugins.plugin_utils._controller import ControllerAction


def _change(directory, run_id, state):
    return _lock.renew(directory, run_id, time.time()) if state == "renewed" else _lock.release(directory, run_id)


class ActionModule(ControllerAction):
    documentation = DOCUMENTATION

    def work(self, arguments, task_vars):
        directory = arguments["directory"]
        if not directory:
            return {"changed": False, "trouble": ""}
        if self._task.check_mode:
            return self._look(directory)
        if arguments["state"] == "taken":
            return self._take(directory, arguments["run_id"], arguments["ttl"])
        try:
            trouble = _change(directory, arguments["run_id"], arguments["state"])
        except KupError as error:
            trouble = str(error).removesuffix(".")
        return {"changed": not trouble, "trouble": trouble}

    def _look(self, directory):
        now = time.time()
        held = _lock.look(directory, now)
        state = f"held by {held.text(now)}" if held else "free"
        Display().display(f"lock: kup_lock ({directory}) is {state}")
        return {"changed": False, "trouble": state if held else ""}

    def _take(self, directory, run_id, ttl):
        now = time.time()
        mine = _lock.Lock(_lock_place.owner(), run_id, since=now, renewed=now, ttl=ttl)
        expired = _lock.take(directory, mine, now)
        if expired:
            Display().warning(f"kup_lock ({directory}) had expired and was taken over from {expired.text(now)}.")
        return {"changed": True, "trouble": ""}
