#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_plan
short_description: Check what a rollout is asked to do, and divide its nodes into batches
version_added: 0.1.0
description:
  - Checks the variables of all nodes of a rollout on the controller, before any node is touched. The names and their meanings
    are documented with the role P(kup.fleet.kup#role), whose task this is.
  - Fails with a sentence for each wrong value, which begins with the node's name.
  - Fails in a job of AWX that is a slice, which has some of the nodes only.
options:
  hosts:
    description: Names of all nodes of the rollout, in order.
    type: list
    elements: str
    required: true
  way:
    description: Whether the nodes are updated, or taken back to their old kernels. For the latter neither kernel nor services have to be given.
    type: str
    choices:
      - update
      - back
    default: update
  only:
    description:
      - Names of variables. Then these are checked alone, there is no rollout, and only RV(meant) and RV(host_meant) are returned.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    details: Nothing is ever changed.
extends_documentation_fragment:
  - kup.fleet.attributes
  - kup.fleet.attributes.action
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Check the rollout
  kup.fleet.kup_plan:
    hosts: "{{ ansible_play_hosts_all }}"
  run_once: true
  register: plan
"""

RETURN = r"""
batches:
  description: The nodes of each batch, if all of them need the update.
  type: list
  elements: list
  returned: without O(only)
  sample:
    - [node1]
    - [node2, node3]
meant:
  description:
    - By variable, what a text or an empty value stands for that all nodes have been given, for example by a survey. A list may be
      given as lines of text, and an empty value is the default.
    - An empty value on the command line, where the fields of a survey are, is not given; it is what the inventory has.
  type: dict
  returned: success
  sample:
    kup_units: [memcached.service]
host_meant:
  description: The same by node, where nodes differ.
  type: dict
  returned: success
domains:
  description: By node, the failure domain that it is in. Empty where nodes have none.
  type: dict
  returned: without O(only)
  sample:
    node1: rack1
    node2: rack1
    node3: rack2
instances:
  description: By node, what stands for it in the queries of a judgement by metrics.
  type: dict
  returned: success
  sample:
    node1: node1:9100
    node2: node2:9100
extras:
  description:
    - What at least one node has that most rollouts do without - hooks, and variables that are set. The tasks that need them are passed
      over where none has.
  type: list
  elements: str
  returned: without O(only)
  sample: [kup_drain, kup_hooks.before_switch]
limits:
  description: What M(kup.fleet.kup_budget) compares the rollout with, the values of the variables of these names, and C(way).
  type: dict
  returned: without O(only)
  sample:
    max_failed: 0
    max_unreachable: 0
    batch_success: 50%
    domain_parallel: 1
    domain_order: any
    soak: 0
    soak_node_hours: 0
    way: update
run_id:
  description: A new id for this rollout. It begins with the time in UTC.
  type: str
  returned: without O(only)
  sample: 20260101T120000-3fa9c1
started:
  description: Seconds since the epoch.
  type: float
  returned: without O(only)
  sample: 1767268800.123
"""
