#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_permit
short_description: Say whether a node may begin its update now
version_added: 0.1.0
description:
  - Compares the time on the controller with the maintenance windows of a rollout, and the rest of the open one with what the nodes of this
    rollout have needed so far, by the facts that its tasks leave with them.
options:
  hosts:
    description: Names of all nodes of the rollout.
    type: list
    elements: str
    required: true
  switching:
    description: Whether the node is ready for its switch. What comes before counts as a part of its update else.
    type: bool
    default: false
  window:
    description: Times at which a node may begin, such as V(Mon-Fri 22:00-04:00). None is at any time.
    type: list
    elements: str
    default: []
  zone:
    description: Their time zone, such as V(Europe/Berlin). Empty is the controller's own.
    type: str
    default: ""
  cutoff:
    description: Seconds that must be left of the window. V(0) is as many as the slowest node has needed so far.
    type: int
    default: 0
  estimate:
    description: Seconds that must be left where no node has committed yet.
    type: int
    default: 600
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
- name: Ask whether the node may begin
  kup.fleet.kup_permit:
    hosts: "{{ ansible_play_hosts_all }}"
    window:
      - Sat 02:00-04:30
    zone: Europe/Berlin
  register: permit
"""

RETURN = r"""
reason:
  description: Why the node may not begin, as a part of a sentence. Empty if it may.
  type: str
  returned: success
  sample: the window Sat 02:00-04:00 closes at Sat 04:00, a node takes 320 s
at:
  description: When that was found, seconds since the epoch.
  type: float
  returned: success
  sample: 1767268800.123
"""
