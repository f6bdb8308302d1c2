#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_budget
short_description: Say whether a rollout goes on
version_added: 0.1.0
description:
  - Counts on the controller what has become of the nodes of a rollout, by the facts that its tasks leave with them, and compares it with
    the rollout's budgets and with what is expected of each batch.
  - It reads what M(kup.fleet.kup_plan) and M(kup.fleet.kup_batches) have said, which is registered as C(kup_rollout) and C(kup_divided). As arguments
    they would be made anew for each node, and they have the names of all nodes.
options:
  node:
    description: The node whose turn it may be.
    type: str
attributes:
  check_mode:
    details: Nothing is ever changed. It is no node's turn.
extends_documentation_fragment:
  - kup.fleet.attributes
  - kup.fleet.attributes.action
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Ask whether the node may be switched
  kup.fleet.kup_budget:
    node: "{{ inventory_hostname }}"
  register: budget
"""

RETURN = r"""
turn:
  description:
    - Whether O(node) is to be switched now. A node whose update was begun by an earlier rollout always is; one that has failed or needs
      nothing never is.
  type: bool
  returned: success
at:
  description: When this was said, in seconds since the epoch by the controller's clock.
  type: float
  returned: success
reason:
  description: Why no further node is switched, as a part of a sentence. Empty if nothing stands in the way.
  type: str
  returned: success
  sample: node1 failed, kup_max_failed allows 0
soak_nodes:
  description:
    - Updated nodes that O(node) is to judge once more before its batch begins. Empty where that is not its business, or is done.
    - Without O(node) all updated nodes, once none is left to be updated, and nothing has stopped the rollout.
  type: list
  elements: str
  returned: success
soak_since:
  description: When the last one of them had been updated, in seconds since the epoch. V(0) where there are none.
  type: float
  returned: success
soak_until:
  description: When they are to be judged, in seconds since the epoch. V(0) where there are none.
  type: float
  returned: success
failed_nodes:
  description: Nodes that failed, also those that were lost after they had been reached.
  type: list
  elements: str
  returned: success
unreachable_nodes:
  description: Nodes that were never reached.
  type: list
  elements: str
  returned: success
lost_nodes:
  description: Those of RV(failed_nodes) that Ansible has taken out of the play.
  type: list
  elements: str
  returned: success
committed_nodes:
  description: Nodes that have committed the update, with all of their state.
  type: list
  elements: str
  returned: success
"""
