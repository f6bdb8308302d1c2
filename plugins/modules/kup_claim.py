#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_claim
short_description: Keep other rollouts away from a node while this one works elsewhere for it
version_added: 0.1.0
description:
  - The modules that change a node keep other rollouts away for 180 seconds each. What takes longer and asks no node, such as a balancer that
    waits for clients to leave, needs more.
  - The next module that changes the node begins with 180 seconds again. A node that is not in the middle of an update is left as it is.
options:
  seconds:
    description: Seconds from now for which another rollout is refused on the node. If this one dies, the node is free after them.
    type: int
    required: true
attributes:
  check_mode:
    details: The claim is not made. It fails if another rollout is at work on the node.
extends_documentation_fragment:
  - kup.fleet.attributes
  - kup.fleet.run
author:
  - The kup.fleet maintainers (!UNKNOWN)
seealso:
  - module: kup.fleet.kup_commit
"""

EXAMPLES = r"""
- name: Keep the node for as long as a long backup may take
  kup.fleet.kup_claim:
    seconds: 7200
    run_id: 20260101T120000-3fa9c1
"""

RETURN = r"""
record:
  description: The node's transaction record.
  type: dict
  returned: success
  sample:
    phase: prepared
    kernel_new: 7.2.12+deb13-cloud-amd64
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import lock
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records


def main():
    module = AnsibleModule(
        argument_spec={
            "seconds": {"type": "int", "required": True},
            "run_id": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    if module.params["seconds"] < 1:
        module.fail_json(msg=f"seconds is {module.params['seconds']}, expected a whole number of at least 1.")
    try:
        with lock.exclusive():
            record = records.take(module.params["run_id"], seconds=module.params["seconds"], dry=module.check_mode)
    except KupError as error:
        module.fail_json(msg=str(error))
    module.exit_json(record=record.as_dict())


if __name__ == "__main__":
    main()
