# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import time

from ansible.errors import AnsibleConnectionFailure

from ansible_collections.kup.fleet.plugins.plugin_utils._node import NodeAction


class ActionModule(NodeAction):
    """Logs in anew: that the controller still can is a part of what is being confirmed."""

    def run(self, tmp=None, task_vars=None):
        with contextlib.suppress(AnsibleConnectionFailure):
            self._connection.reset()
        return {**super().run(tmp, task_vars), "ended": time.time()}
