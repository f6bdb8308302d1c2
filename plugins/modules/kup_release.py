#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_release
short_description: Compare the kernel releases that the nodes of a rollout would be updated to
version_added: 0.1.0
description:
  - A series such as V(7.2) means the newest release that a node knows. Nodes with older package lists would get an older one than
    those that the first batch has tried.
  - Looks at the facts that M(kup.fleet.kup_preflight) has left with each node, on the controller. Compared are nodes that need the
    update, of one distribution and flavour.
options:
  hosts:
    description: Names of all nodes of the rollout, in order.
    type: list
    elements: str
    required: true
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
- name: Compare the releases
  kup.fleet.kup_release:
    hosts: "{{ ansible_play_hosts_all }}"
  run_once: true
  register: releases
"""

RETURN = r"""
differing:
  description: What is wrong with nodes that would get another release than the newest of the rollout, a sentence by the name of the node.
  type: dict
  returned: success
"""
