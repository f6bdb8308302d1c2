#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_status_report
short_description: Show and write down what all nodes need
version_added: 0.1.0
description:
  - Shows a table of all nodes, the neediest first, and writes the same as JSON to a file on the controller, C(status/status.json), and
    as metrics for Prometheus.
  - Looks at the results of M(kup.fleet.kup_status) that each node has left, on the controller.
  - Nodes that the run did not look at, and that the inventory has, stay in both files as they were when they were last looked at.
options:
  hosts:
    description: Names of all nodes.
    type: list
    elements: str
    required: true
  looked:
    description: Name of the variable in which each node has left its result.
    type: str
    required: true
  directory:
    description: Directory for reports on the controller. It is made for its owner only if it does not exist.
    type: path
    required: true
  textfile:
    description:
      - File for metrics on the controller, an absolute path that ends with C(.prom). Its directory has to exist. The file is replaced as a
        whole and is readable by all. Empty is none.
    type: str
    default: ""
attributes:
  check_mode:
    details: The table is shown, and nothing is written.
extends_documentation_fragment:
  - kup.fleet.attributes
  - kup.fleet.attributes.action
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Look at the node
  kup.fleet.kup_status:
  register: looked
  failed_when: false

- name: Show what all nodes need
  kup.fleet.kup_status_report:
    hosts: "{{ ansible_play_hosts_all }}"
    looked: looked
    directory: /var/log/kup
    textfile: /var/lib/prometheus/node-exporter/kup_status.prom
  run_once: true
"""

RETURN = r"""
path:
  description: The file with all that is known.
  type: str
  returned: not in check mode
table:
  description: Lines of the table.
  type: list
  elements: str
  returned: success
needs:
  description: Names of the nodes by what they need most, C(look), C(decision), C(update), C(reboot), C(restart) or C(nothing).
  type: dict
  returned: success
  sample: {"update": ["node1"], "nothing": ["node2"]}
unknown:
  description: Why nothing is known of a node, by its name.
  type: dict
  returned: success
"""
