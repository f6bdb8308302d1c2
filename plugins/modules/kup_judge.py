#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_judge
short_description: Judge updated nodes by metrics of a Prometheus
version_added: 0.1.0
description:
  - Compares the values that metrics have had on updated nodes since a time with those of nodes that are not updated yet, over the same time. Where
    there are none, with the values of the same nodes before their update.
  - Uses the Mann-Whitney test, with the rule and the thresholds of Kayenta.
  - Nodes that Ansible has taken out of its plays are compared with nothing; it reads what M(kup.fleet.kup_batches) has said of them, which is
    registered as C(kup_divided).
  - Runs on the controller. If Prometheus does not answer, it is asked again for half a minute.
options:
  prometheus:
    description:
      - Address of a Prometheus, or of what answers as one.
      - No more than 1 MiB of an answer is read, and no redirection is followed.
    type: str
    required: true
  metrics:
    description: Metrics, as the variable C(kup_judge) of the playbook P(kup.fleet.kup#role) describes them.
    type: list
    elements: dict
    required: true
  interval:
    description: Seconds between two values.
    type: int
    default: 30
  since:
    description: When the updated nodes began to run, in seconds since the epoch.
    type: float
    required: true
  nodes:
    description: Names of the updated nodes. No more than 100 of them are looked at, evenly chosen.
    type: list
    elements: str
    required: true
  hosts:
    description: Names of all nodes of the rollout. No more than 100 of those that are not updated yet are compared with.
    type: list
    elements: str
    required: true
  instances:
    description: By node, what stands for it in a query, as M(kup.fleet.kup_plan) returned them. The default is its name.
    type: dict
    default: {}
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
- name: Judge the canary
  kup.fleet.kup_judge:
    prometheus: http://prometheus.example.net:9090
    metrics:
      - name: errors
        query: rate(http_errors_total{instance="$instance"}[1m])
        direction: increase
    since: "{{ soak_began }}"
    nodes: [node1]
    hosts: "{{ ansible_play_hosts_all }}"
  register: judged
"""

RETURN = r"""
worse:
  description: Nodes that are worse. If none is worse by itself, and all are together, it is all of them.
  type: list
  elements: dict
  returned: success
  contains:
    name:
      description: The node.
      type: str
      returned: always
    reason:
      description: By which metric, with medians, the estimated shift, and its interval. A sentence without its full stop.
      type: str
      returned: always
reason:
  description: Why nothing can be said, as a part of a sentence. Empty if the nodes were judged.
  type: str
  returned: success
  sample: "kup_judge (http://prometheus.example.net:9090): errors has no values of node1 in the soak"
metrics:
  description: What was found for each metric.
  type: list
  elements: dict
  returned: success
  contains:
    name:
      description: Name of the metric.
      type: str
      returned: always
    verdict:
      description: V(pass), V(high), V(low), or V(unknown) for an optional metric with too few values.
      type: str
      returned: always
    control:
      description: Whether values were compared with those of others (V(others)) or with those before the update (V(before)).
      type: str
      returned: always
    confidence:
      description: Confidence of the interval.
      type: float
      returned: always
    median:
      description: Median on the updated nodes.
      type: float
      returned: always
    median_control:
      description: Median of what they were compared with.
      type: float
      returned: always
    estimate:
      description: The estimated shift (Hodges-Lehmann).
      type: float
      returned: when RV(metrics[].verdict) is not V(unknown)
    low:
      description: Lower end of its confidence interval.
      type: float
      returned: when RV(metrics[].verdict) is not V(unknown)
    high:
      description: Upper end of its confidence interval.
      type: float
      returned: when RV(metrics[].verdict) is not V(unknown)
    p:
      description: Two-sided p of the test.
      type: float
      returned: when RV(metrics[].verdict) is not V(unknown)
    samples:
      description: Values of the updated nodes, 200 at most, evenly chosen.
      type: list
      elements: float
      returned: always
    samples_control:
      description: Values of what they were compared with, 200 at most, evenly chosen.
      type: list
      elements: float
      returned: always
"""
