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
  - kup.fleet.start
author:
  - The kup.fleet maintainers (!UNKNOWN)
notes:
  - Returns the same values as M(kup.fleet.kup_switch), with other values of RV(state).
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
            "until": {"type": "float", "default": 0.0},
        },
        supports_check_mode=True,
    )
    try:
        if not module.check_mode:
            given = module.params
            service.go_back(given["reason"], given["run_id"], given["committed"], given["until"])
    except KupError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=True)


if __name__ == "__main__":
    main()
