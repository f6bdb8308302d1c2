#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_fallback
short_description: Take a node back to its old kernel, with the newest state of its applications
version_added: 0.1.0
description:
  - Starts the way back on a node that runs the new kernel. The node freezes its applications once more, jumps into the
    preserved old kernel and restores them there, all by itself.
  - With O(committed) a node whose update is committed goes back as well, as long as its old kernel is preserved.
  - A node that is still switching, or already on its way back, is waited for first.
  - A node on which nothing is to be undone is left as it is.
  - A node that does not come back makes the task fail. It is never reported as unreachable.
options:
  reason:
    description: Why, in one sentence. It is kept in the node's transaction record.
    type: str
    required: true
  timeout:
    description: Seconds to wait for the node at most.
    type: int
    required: true
  run_id:
    description:
      - Id of the rollout that asks; it is refused while another rollout is at work on the node.
      - Without it, as when a person undoes an update by hand, no rollout is respected.
    type: str
  committed:
    description: A node whose update is committed goes back, too.
    type: bool
    default: false
  op:
    description:
      - Used by the action plugin of the same name for its call on the node. Not for playbooks.
    type: str
    choices:
      - start
    default: start
attributes:
  check_mode:
    details: Nothing is started.
extends_documentation_fragment:
  - kup.fleet.attributes
author:
  - The kup.fleet maintainers (!UNKNOWN)
seealso:
  - module: kup.fleet.kup_switch
"""

EXAMPLES = r"""
- name: Go back to the old kernel
  kup.fleet.kup_fallback:
    reason: curl reports errors since the switch
    timeout: 600
"""

RETURN = r"""
state:
  description:
    - What the node came to.
    - V(fell_back) - the applications run on the old kernel again.
    - V(aborted) or V(prepared) or V(none) - the node had not switched, there was nothing to undo.
    - V(probation) or V(committed) - the way back was given up, or was not to be taken, and the applications went on with the new kernel.
    - V(failed) - the applications lost their state and were started fresh.
    - V(refused) - nothing was started; the message says why.
    - V(lost) - the node did not come to an end within O(timeout).
  type: str
  returned: always
  sample: fell_back
record:
  description: The node's transaction record. V(none) if the node never answered.
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
from ansible_collections.kup.fleet.plugins.module_utils._update import service


def main():
    module = AnsibleModule(
        argument_spec={
            "reason": {"type": "str", "required": True},
            "timeout": {"type": "int", "required": True},
            "run_id": {"type": "str"},
            "committed": {"type": "bool", "default": False},
            "op": {"type": "str", "choices": ["start"], "default": "start"},
        },
        supports_check_mode=True,
    )
    try:
        if not module.check_mode:
            service.go_back(module.params["reason"], module.params["run_id"], module.params["committed"])
    except KupError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=True)


if __name__ == "__main__":
    main()
