#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_switch
short_description: Switch a node to its staged kernel and wait for what comes of it
version_added: 0.1.0
description:
  - Starts the switch on a node that M(kup.fleet.kup_stage) has prepared. The node freezes its applications, writes them
    to disk, jumps into the new kernel and restores them there, all by itself; the controller only watches.
  - The task ends when the applications run on the new kernel, or as soon as it is clear that they do not. The node is
    then on probation and goes back by itself unless M(kup.fleet.kup_commit) is called in time.
  - A node that does not come back makes the task fail. It is never reported as unreachable, so that C(rescue) runs.
  - On a node that is on probation already nothing is started. On one that is just switching, the task waits with it.
options:
  timeout:
    description: Seconds to wait for the node at most.
    type: int
    required: true
  run_id:
    description:
      - Id of the rollout that asks; it is refused while another rollout is at work on the node.
      - Without it no rollout is respected.
    type: str
  op:
    description:
      - Used by the action plugin of the same name for its two calls on the node. Not for playbooks.
    type: str
    choices:
      - start
      - status
    default: start
attributes:
  check_mode:
    details: Nothing is started.
extends_documentation_fragment:
  - kup.fleet.attributes
  - kup.fleet.start
author:
  - The kup.fleet maintainers (!UNKNOWN)
notes:
  - Runs as an action plugin on the controller, which must stay connected to the node only in order to see the result.
seealso:
  - module: kup.fleet.kup_stage
  - module: kup.fleet.kup_commit
  - module: kup.fleet.kup_fallback
"""

EXAMPLES = r"""
- name: Switch to the new kernel
  kup.fleet.kup_switch:
    timeout: 600
    run_id: 20260101T120000-3fa9c1
  register: switch

- name: Say how long the applications were away
  ansible.builtin.debug:
    msg: "{{ switch.state }} on {{ switch.kernel }} after {{ switch.outage_s }} s"
"""

RETURN = r"""
state:
  description:
    - What the node came to.
    - V(probation) - the applications run on the new kernel.
    - V(aborted) - it was given up and the applications went on as before.
    - V(fell_back) - the applications run on the old kernel again. RV(record) has C(fresh_units), those that lost their state.
    - V(failed) - the applications lost their state and were started fresh.
    - V(refused) - nothing was started; the message says why.
    - V(lost) - the node did not come to an end within O(timeout).
  type: str
  returned: always
  sample: probation
record:
  description:
    - The node's transaction record. V(none) if the node never answered.
    - C(data) says which memory the applications have. V(running) is all that they ever had, V(checkpoint) that of the freeze,
      V(partial) means that the C(fresh_units) have none, and V(fresh) that none has any.
  type: dict
  returned: always
  sample:
    phase: probation
    kernel_old: 6.12.117+deb13-cloud-amd64
    kernel_new: 7.2.12+deb13-cloud-amd64
    reason: ""
boot_id_before:
  description: Identity of the boot that the node was in when the task began.
  type: str
  returned: always
boot_id:
  description: Identity of the boot that the node is in now.
  type: str
  returned: always
kernel_before:
  description: Release of the kernel that ran when the task began.
  type: str
  returned: always
kernel:
  description: Release of the kernel that runs now.
  type: str
  returned: always
timeline:
  description:
    - What happened when, oldest first. Times of two boots are joined by the hardware clock, so that a difference across
      a switch is uncertain by one second.
  type: list
  elements: dict
  returned: always
  sample:
    - event: freeze
      at: 1767268800.123
      boot: 0f0e9c9e-6c3c-4f4e-8a55-6f1f2b3c4d5e
phases:
  description: Seconds of each phase of the last switch, as far as it came.
  type: dict
  returned: always
  sample:
    dump_s: 0.912
    kernel_s: 1.71
    early_boot_s: 0.65
    restore_s: 0.81
    open_s: 0.02
outage_s:
  description: The node's own estimate of the outage in seconds, from the freeze until packets flowed again. V(none) if not known.
  type: float
  returned: always
bytes:
  description: Bytes that the last switch has written, all rounds and images.
  type: int
  returned: always
memory:
  description:
    - How each unit's memory travelled, a dictionary for each. With the engine V(foam) it has C(rounds), a list of
      dictionaries with C(seconds), C(pages) and C(frozen_s) of each round of copying; C(last_pages), the pages that the
      freeze has written; and C(huge_pages_split_kib), what was in transparent huge pages that were split for it.
    - With the engine V(ppp) it has C(kept_pages), the pages that stayed in their frames; C(image_pages), those that went
      through CRIU's images; C(fetched_pages), those that were brought in from swap in the freeze; C(dropped_pages), those
      that CRIU read for nothing; and C(table), what the kernel module says of all units together, among it C(frames) and
      C(runs), the frames that were reserved and in how many pieces, C(moved), those that were copied out of the new
      kernel's way, and C(own), those of the table itself.
  type: dict
  returned: always
  sample:
    memcached.service:
      rounds:
        - seconds: 1.9
          pages: 30412
          frozen_s: 0.071
      last_pages: 1830
      huge_pages_split_kib: 0
units:
  description: The units as they are now, dictionaries with C(unit), C(state) and C(main_pid).
  type: list
  elements: dict
  returned: always
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import lock, service, unit_names
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records


def start(owner, until):
    with lock.exclusive():
        record = records.take(owner) if owner else records.load()
    if record["PHASE"] != "prepared":
        raise KupError(
            f"This node is in phase {record['PHASE'] or 'none'!r}, expected 'prepared'; stage the kernels with kup_stage first."
        )
    service.start(unit_names.SWITCH, ["switch"], until)
    return {"changed": True}


def main():
    module = AnsibleModule(
        argument_spec={
            "timeout": {"type": "int", "required": True},
            "run_id": {"type": "str"},
            "op": {"type": "str", "choices": ["start", "status"], "default": "start"},
            "until": {"type": "float", "default": 0.0},
        },
        supports_check_mode=True,
    )
    try:
        if module.params["op"] == "status":
            result = service.status()
        elif module.check_mode:
            result = {"changed": True}
        else:
            result = start(module.params["run_id"], module.params["until"])
    except KupError as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
