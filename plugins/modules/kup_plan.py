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
  - Judges the arguments of a rollout on the controller, before any node is touched, and fails with one sentence about
    the first thing that is wrong.
  - Values are taken as the user wrote them, so that the sentence can show them.
options:
  hosts:
    description: Names of all nodes of the rollout, in order.
    type: list
    elements: str
    required: true
  kernel:
    description: Value of C(kup_kernel), a text.
    type: raw
    required: true
  units:
    description: Value of C(kup_units), a list of services.
    type: raw
    required: true
  engine:
    description: Value of C(kup_engine), the name of an engine or V(auto).
    type: raw
    required: true
  rounds_max:
    description: Value of C(kup_rounds_max), a whole number from 0.
    type: raw
    required: true
  freeze_target:
    description: Value of C(kup_freeze_target), a number of seconds.
    type: raw
    required: true
  batches:
    description:
      - Value of C(kup_batches), a list of numbers of nodes and of percentages of all nodes such as V(25%).
      - As with the keyword C(serial), the last one is repeated until all nodes are covered.
    type: raw
    required: true
  max_failed:
    description: Value of C(kup_max_failed), the number of nodes that may fail before the rollout stops.
    type: raw
    required: true
  watch_interval:
    description: Value of C(kup_watch_interval), a whole number of seconds, 0 for no watch.
    type: raw
    required: true
  timeouts:
    description: Values that must be numbers of seconds greater than 0, by the name of the variable.
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
- name: Check the rollout
  kup.fleet.kup_plan:
    hosts: "{{ ansible_play_hosts_all }}"
    kernel: "{{ kup_kernel | default('') }}"
    units: "{{ kup_units | default([]) }}"
    engine: "{{ kup_engine }}"
    rounds_max: "{{ kup_rounds_max }}"
    freeze_target: "{{ kup_freeze_target }}"
    batches: "{{ kup_batches }}"
    max_failed: "{{ kup_max_failed }}"
    watch_interval: "{{ kup_watch_interval }}"
    timeouts:
      kup_commit_timeout: "{{ kup_commit_timeout }}"
      kup_switch_timeout: "{{ kup_switch_timeout }}"
  run_once: true
  register: plan
"""

RETURN = r"""
batches:
  description: The nodes of each batch.
  type: list
  elements: list
  returned: success
  sample:
    - [node1]
    - [node2, node3]
run_id:
  description: A new id for this rollout. It begins with the time in UTC.
  type: str
  returned: success
  sample: 20260101T120000-3fa9c1
started:
  description: Seconds since the epoch.
  type: float
  returned: success
  sample: 1767268800.123
"""

from ansible.module_utils.basic import AnsibleModule


def main():
    # The action plugin of the same name does it all, on the controller.
    module = AnsibleModule(
        argument_spec={
            "hosts": {"type": "list", "elements": "str", "required": True},
            "kernel": {"type": "raw", "required": True},
            "units": {"type": "raw", "required": True},
            "engine": {"type": "raw", "required": True},
            "rounds_max": {"type": "raw", "required": True},
            "freeze_target": {"type": "raw", "required": True},
            "batches": {"type": "raw", "required": True},
            "max_failed": {"type": "raw", "required": True},
            "watch_interval": {"type": "raw", "required": True},
            "timeouts": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    module.fail_json(msg="kup_plan works on the controller only; call it as kup.fleet.kup_plan.")


if __name__ == "__main__":
    main()
