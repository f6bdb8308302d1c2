#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_commit
short_description: Keep the new kernel of a node that is on probation, or remove what an update left behind
version_added: 0.1.0
description:
  - Ends the probation of a node. From then on the boot loader starts the new kernel, the node does not go back by itself any
    more, and the checkpoint images, which hold the applications' memory, are removed.
  - It logs in to the node anew. That the controller still can is a part of what is being confirmed.
options:
  state:
    description:
      - V(committed) keeps the new kernel. It fails on a node that is not on probation.
      - V(clean) removes what an update left behind that was given up or undone. It fails while an update is under way,
        and where no restore worked, for then the images are the last copy of the state.
      - V(released) changes nothing of the update, but lets another rollout go on with it at once. A rollout that ends
        early says this to the nodes that it has prepared.
      - V(forgotten) removes what a finished update keeps on purpose, the preserved kernel and images that no kernel could
        restore. An update that did not come to its switch is ended. The transaction record stays.
    type: str
    choices:
      - committed
      - clean
      - released
      - forgotten
    default: committed
attributes:
  check_mode:
    details: Nothing is changed on the node.
extends_documentation_fragment:
  - kup.fleet.attributes
  - kup.fleet.run
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Keep the new kernel
  kup.fleet.kup_commit:
    run_id: 20260101T120000-3fa9c1

- name: Clean up after a fallback
  kup.fleet.kup_commit:
    state: clean
    run_id: 20260101T120000-3fa9c1
"""

RETURN = r"""
ended:
  description: When the module had ended, in seconds since the epoch by the controller's clock.
  type: float
  returned: always
  sample: 1767268800.5
record:
  description: The node's transaction record.
  type: dict
  returned: success
  sample:
    phase: committed
    kernel_new: 7.2.12+deb13-cloud-amd64
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import commit, leftovers, lock
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records


def apply(state, owner, check_mode):
    with lock.exclusive():
        if state == "released":
            return records.release(owner, dry=check_mode)
        record = records.load()
        records.claim(record, owner)
        if state == "committed":
            return commit.commit(dry=check_mode)
        if state == "forgotten":
            return leftovers.uninstall(record, dry=check_mode)
        return leftovers.clean_up(record, dry=check_mode)


def main():
    module = AnsibleModule(
        argument_spec={
            "state": {
                "type": "str",
                "choices": ["committed", "clean", "released", "forgotten"],
                "default": "committed",
            },
            "run_id": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    try:
        changed = apply(module.params["state"], module.params["run_id"], module.check_mode)
        record = records.load()
    except KupError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=changed, record=record.as_dict())


if __name__ == "__main__":
    main()
