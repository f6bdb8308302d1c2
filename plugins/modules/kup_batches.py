#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_batches
short_description: Divide the nodes that need an update into batches
version_added: 0.1.0
description:
  - Looks at the facts that the preparation of each node has left, on the controller. A node that runs the target, or could not be
    prepared, is in no batch.
  - Nodes whose update an earlier rollout has begun are a batch of their own, the first.
  - A batch is divided into waves, so that no more nodes of a domain (O(domains)) are in one wave than may be away at once. With
    O(soak), the first node of each batch but the first is a wave of its own.
options:
  hosts:
    description: Names of all nodes of the rollout, in order.
    type: list
    elements: str
    required: true
  lost:
    description: Names of those that Ansible has taken out of the play.
    type: list
    elements: str
    default: []
  sizes:
    description: Sizes of the batches, numbers, or percentages of the nodes that are to be divided. The last one repeats.
    type: list
    elements: str
    required: true
  domains:
    description: By node, the failure domain that it is in, as M(kup.fleet.kup_plan) returned them. Empty is none.
    type: dict
    default: {}
  domain_parallel:
    description: How many nodes of a domain may be away at once, a number, or a percentage of its nodes rounded down, one at least.
    type: raw
    default: 1
  domain_order:
    description: Whether a domain is finished before the next one begins.
    type: str
    choices:
      - any
      - one_at_a_time
    default: any
  soak:
    description: Seconds that updated nodes run before the next batch begins.
    type: int
    default: 0
  soak_node_hours:
    description: Hours that they run at least, all together. The soak lasts for O(soak), and until then.
    type: float
    default: 0.0
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
- name: Divide the nodes
  kup.fleet.kup_batches:
    hosts: "{{ ansible_play_hosts_all }}"
    sizes: [1, "25%", "100%"]
  run_once: true
  register: divided
"""

RETURN = r"""
batches:
  description: The nodes of each batch.
  type: list
  elements: list
  returned: success
  sample:
    - [node2]
    - [node3, node4]
waves:
  description: The nodes of each wave, of all batches in order. Without O(domains), each batch is one wave.
  type: list
  elements: list
  returned: success
  sample:
    - [node2]
    - [node3]
    - [node4]
lost:
  description: As given.
  type: list
  elements: str
  returned: success
"""
