# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What some rollouts have beside the update itself. Tasks ask once for all nodes whether any has it: most have not, and each question costs
the controller time for each node.
"""

from __future__ import annotations

VARIABLES = (
    "kup_drain",
    "kup_gate_remote_ports",
    "kup_lock",
    "kup_notify",
    "kup_rollout_textfile",
    "kup_soak",
    "kup_soak_node_hours",
    "kup_textfile_dir",
)
HOOKS = "kup_hooks"


def of_node(values):
    """Set of what a node has: names of variables that are neither empty nor zero, and its hooks as ``kup_hooks.before_switch``.

    :param values: dict name → checked value; one that is missing counts as empty.
    """
    hooks = values.get(HOOKS) or {}
    return {*filter(values.get, VARIABLES), *(f"{HOOKS}.{event}" for event in hooks)}
