#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_gate
short_description: Judge whether a node's applications are as good as before the switch
version_added: 0.1.0
description:
  - Before the switch (O(state=remember)), reads the applications' own numbers and keeps them on the node, together with the checks.
    With them a node on probation judges itself (O(kup.fleet.kup_stage#module:watch_interval)).
  - After it (O(state=judge)), checks that units are active, ports answer, commands and URIs give what is expected, and
    that the numbers have not dropped. Fails with everything that is wrong.
  - Some time after the commit (O(state=soak)), checks the same, and that neither the node nor a unit has started anew since.
  - All checks are made on the node itself.
  - What it is given may hold secrets. It is neither in the result nor in the node's log, and a failure shows no argument of a command, no user
    and query of an URI, and nothing that was sent. What an application answers is shown, a part of it.
options:
  state:
    description: Whether to keep the numbers for later, to judge, or to judge once more after the commit.
    type: str
    choices:
      - remember
      - judge
      - soak
    default: judge
  boot_id:
    description: Identity of the boot in which the update was committed, for O(state=soak), as M(kup.fleet.kup_switch) returned it.
    type: str
  units:
    description: Services that must be active with a main process in their own control group.
    type: list
    elements: str
    default: []
  ports:
    description: TCP ports that must accept a connection, as V(11211) (on 127.0.0.1) or V(192.0.2.7:11211).
    type: list
    elements: str
    default: []
  commands:
    description: Commands and what they must give.
    type: list
    elements: dict
    default: []
    suboptions:
      argv:
        description: The command and its arguments. No shell is involved.
        type: list
        elements: str
        required: true
      rc:
        description: Expected exit code.
        type: int
        default: 0
      stdout:
        description: Regular expression that must be found in the output.
        type: str
      timeout:
        description: Seconds that the command may take.
        type: int
        default: 60
  uris:
    description: URIs and what they must answer.
    type: list
    elements: dict
    default: []
    suboptions:
      url:
        description: The URI, with V(http) or V(https), without a user.
        type: str
        required: true
      status:
        description: Expected status code.
        type: int
        default: 200
      content:
        description: Regular expression that must be found in the answer (its first MiB).
        type: str
  numbers:
    description: Numbers that an application tells over TCP, compared with what they were before the switch.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: A name for the number.
        type: str
        required: true
      address:
        description: Where to ask, as V(host:port).
        type: str
        required: true
      send:
        description: What to send. Mind that YAML knows C(\r\n) in double quotes only.
        type: str
        required: true
      pattern:
        description: Regular expression to find in the answer. Its first group is the number.
        type: str
        required: true
      at_least:
        description:
          - Share of the number before the switch that must be there after it. V(1.0) means not less than before, V(0)
            only that the number is told.
        type: float
        default: 1.0
attributes:
  check_mode:
    details: Nothing is changed on the node, so V(remember) keeps nothing. O(commands) are run in check mode as well.
extends_documentation_fragment:
  - kup.fleet.attributes
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Keep the numbers
  kup.fleet.kup_gate:
    state: remember
    numbers: "{{ memcached_numbers }}"

- name: Judge
  kup.fleet.kup_gate:
    units:
      - memcached.service
    ports:
      - "11211"
    commands:
      - argv: [systemctl, is-system-running]
        stdout: running|degraded
    numbers: "{{ memcached_numbers }}"
  vars:
    memcached_numbers:
      - name: curr_items
        address: "127.0.0.1:11211"
        send: "stats\r\nquit\r\n"
        pattern: 'STAT curr_items (\d+)'
"""

RETURN = r"""
failures:
  description: Everything that is not as it should be, a sentence each.
  type: list
  elements: str
  returned: always
numbers:
  description: For each name the number before the switch and now. V(none) where it is not known.
  type: dict
  returned: always
  sample:
    curr_items:
      before: 100000
      now: 100000
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import gate, watch

COMMANDS = {
    "argv": {"type": "list", "elements": "str", "required": True},
    "rc": {"type": "int", "default": 0},
    "stdout": {"type": "str"},
    "timeout": {"type": "int", "default": 60},
}
URIS = {
    "url": {"type": "str", "required": True},
    "status": {"type": "int", "default": 200},
    "content": {"type": "str"},
}
NUMBERS = {
    "name": {"type": "str", "required": True},
    "address": {"type": "str", "required": True},
    "send": {"type": "str", "required": True},
    "pattern": {"type": "str", "required": True},
    "at_least": {"type": "float", "default": 1.0},
}


def remember(wanted, check_mode):
    found = {number["name"]: gate.read_number(number) for number in wanted["numbers"]}
    if not check_mode:
        gate.remember(found)
        watch.save(wanted)
    return {"failures": [], "numbers": {name: {"before": value, "now": value} for name, value in found.items()}}


def judge(wanted):
    failures, numbers = gate.judge(**{kind: wanted[kind] for kind in watch.KINDS})
    return {"failures": failures, "numbers": numbers}


def soak(wanted):
    since = gate.soak(wanted["boot_id"], wanted["units"])
    found = judge(wanted)
    return {**found, "failures": since + found["failures"]}


def main():
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["remember", "judge", "soak"], "default": "judge"},
            "boot_id": {"type": "str"},
            "units": {"type": "list", "elements": "str", "default": []},
            "ports": {"type": "list", "elements": "str", "default": []},
            "commands": {"type": "list", "elements": "dict", "default": [], "options": COMMANDS},
            "uris": {"type": "list", "elements": "dict", "default": [], "options": URIS},
            "numbers": {"type": "list", "elements": "dict", "default": [], "options": NUMBERS},
        },
        required_if=[("state", "soak", ["boot_id"])],
        supports_check_mode=True,
    )
    try:
        if module.params["state"] == "remember":
            result = remember(module.params, module.check_mode)
        else:
            result = {"judge": judge, "soak": soak}[module.params["state"]](module.params)
    except KupError as error:
        module.fail_json(msg=str(error))
    if result["failures"]:
        module.fail_json(msg=" ".join(result["failures"]), **result)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
