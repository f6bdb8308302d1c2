#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_outlook
short_description: Say what a rollout would do with each node
version_added: 0.1.0
description:
  - Shows a table of all nodes - which would be updated, from which kernel to which, with which services, in which batch, and what stands
    in the way of the others - and writes the same as JSON to a file on the controller, plans/RUN_ID.json.
  - Looks at the facts that the judgement of each node has left, on the controller, and at what M(kup.fleet.kup_batches) has said of nodes that
    Ansible has taken out of its plays, which is registered as C(kup_divided).
options:
  hosts:
    description: Names of all nodes of the rollout, in order.
    type: list
    elements: str
    required: true
  batches:
    description: The nodes of each batch, as M(kup.fleet.kup_batches) returns them.
    type: list
    elements: list
    required: true
  waves:
    description: The nodes of each wave, as M(kup.fleet.kup_batches) returns them.
    type: list
    elements: list
    default: []
  domains:
    description: By node, the failure domain that it is in, as M(kup.fleet.kup_plan) returned them. Empty is none.
    type: dict
    default: {}
  directory:
    description: Directory for reports on the controller. It is made for its owner only if it does not exist.
    type: path
    required: true
  run_id:
    description: Id of the rollout, as M(kup.fleet.kup_plan) returned it.
    type: str
    required: true
  window:
    description: Times at which a node may begin, as M(kup.fleet.kup_permit) takes them.
    type: list
    elements: str
    default: []
  zone:
    description: Their time zone. Empty is the controller's own.
    type: str
    default: ""
  control:
    description: File or address that pauses the rollout, as M(kup.fleet.kup_permit) takes it.
    type: str
    default: ""
  alerts:
    description:
      - Address of a Prometheus, or of what answers as one. Empty asks nobody.
      - No more than 1 MiB is read, and no redirection is followed.
    type: str
    default: ""
  alerts_ignore:
    description: Regular expressions of whole names of alerts that do not count.
    type: list
    elements: str
    default: []
  alerts_match:
    description: By label, a regular expression of its whole value. Alerts that do not fit all of them do not count.
    type: dict
    default: {}
  judge:
    description: Metrics by which updated nodes are judged, as M(kup.fleet.kup_judge) takes them. Prometheus is asked for those of one node.
    type: list
    elements: dict
    default: []
  judge_prometheus:
    description: Address of the Prometheus that is asked for them.
    type: str
    default: ""
  judge_interval:
    description: Seconds between two values of them.
    type: int
    default: 30
  soak:
    description: Seconds that updated nodes run before they are judged.
    type: int
    default: 0
  instances:
    description: By node, what stands for it in the queries, as M(kup.fleet.kup_plan) returned them.
    type: dict
    default: {}
attributes:
  check_mode:
    details: The table is shown, and the file is written, because a plan is what check mode is for. No node is touched.
extends_documentation_fragment:
  - kup.fleet.attributes
  - kup.fleet.attributes.action
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Show the plan
  kup.fleet.kup_outlook:
    hosts: "{{ ansible_play_hosts_all }}"
    batches: "{{ divided.batches }}"
    directory: /var/log/kup
    run_id: 20261126T083000-1a2b3c
  run_once: true
"""

RETURN = r"""
path:
  description: The file.
  type: str
  returned: success
summary:
  description:
    - The plan in short. C(nodes) has of each node its C(name), C(verdict), C(batch), C(kernel), C(target), C(outage_s) and C(reason), where
      there is something to say. Those that something stands in the way of come first. C(left_out) is how many nodes more than 500 there are.
  type: dict
  returned: success
window:
  description: Whether a node could begin now.
  type: dict
  returned: success
  contains:
    windows:
      description: As given.
      type: list
      elements: str
      returned: always
    zone:
      description: As given.
      type: str
      returned: always
    open:
      description: Whether one is open now, or there are none.
      type: bool
      returned: always
    closes:
      description: When it closes, seconds since the epoch. V(none) where none is open, or no end is near.
      type: float
      returned: always
    opens:
      description: When the next one opens. V(none) where one is open, or there are none.
      type: float
      returned: always
control:
  description: What the file or address says now.
  type: dict
  returned: success
  contains:
    place:
      description: As given.
      type: str
      returned: always
    word:
      description: V(go), V(pause) or V(abort).
      type: str
      returned: always
    reason:
      description: Where the word comes from, empty for V(go).
      type: str
      returned: always
alerts:
  description: What Prometheus says now.
  type: dict
  returned: success
  contains:
    place:
      description: As given.
      type: str
      returned: always
    firing:
      description: Names of the alerts that are firing and count.
      type: list
      elements: str
      returned: always
    reason:
      description: Why no node could begin, also where Prometheus cannot be asked. Empty if one could.
      type: str
      returned: always
judgement:
  description: Whether there are metrics to judge by now.
  type: dict
  returned: success
  contains:
    place:
      description: Address of the Prometheus. Empty where nothing is judged, or no node is to be updated.
      type: str
      returned: always
    counts:
      description: By metric, how many values the first node to be updated has had in the time of a soak.
      type: dict
      returned: always
    reason:
      description: What is wrong, empty if nothing is.
      type: str
      returned: always
nodes:
  description: What would become of each node.
  type: list
  elements: dict
  returned: success
  contains:
    name:
      description: Its name.
      type: str
      returned: always
    verdict:
      description:
        - V(update) - it is updated when the turn of its batch comes.
        - V(resume) - an earlier rollout has begun its update, which is brought to its end.
        - V(up_to_date) - it runs the target.
        - V(refused) - something stands in the way.
        - V(unreachable) - it did not answer.
      type: str
      returned: always
    batch:
      description: The number of its batch, counted from 1. V(none) where it is in none.
      type: int
      returned: always
    wave:
      description: The number of its wave in the rollout, counted from 1. V(none) where it is in none.
      type: int
      returned: always
    domain:
      description: Its failure domain, empty where nodes have none.
      type: str
      returned: always
    kernel:
      description: Release of its kernel, empty if unknown.
      type: str
      returned: always
    target:
      description: Release that it would get, or has.
      type: str
      returned: always
    engine:
      description: The engine that would be used, and behind a C(+) the one of its disk checkpoint.
      type: str
      returned: always
    engine_reasons:
      description: Why V(auto) takes no better one, a sentence each.
      type: list
      elements: str
      returned: always
    outage_s:
      description: Expected seconds from the freeze to the first answer. V(none) where they are not known.
      type: float
      returned: always
    outages_s:
      description: The same with each of the engines, by name.
      type: dict
      returned: always
    units:
      description: Full names of the units that are carried.
      type: list
      elements: str
      returned: always
    memory_bytes:
      description: Their resident memory, in bytes.
      type: int
      returned: always
    blockers:
      description: What stands in the way, as M(kup.fleet.kup_preflight) returns it.
      type: list
      elements: dict
      returned: always
    reason:
      description: The same in sentences, or what else went wrong.
      type: str
      returned: always
"""
