#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_drain_record
short_description: Remember on a node what balancers were told of it
version_added: 0.1.0
description:
  - Keeps the list of what M(kup.fleet.kup_drain) has drained for the node in C(/var/lib/kup/drained), for root only. So a run that was killed
    leaves word for the next one.
options:
  places:
    description: Names, each as C(BALANCER HOST PLACE).
    type: list
    elements: str
    default: []
  state:
    description:
      - V(present) adds O(places), V(absent) takes them away. The file is removed with the last one.
      - V(query) only returns what there is.
    type: str
    choices:
      - present
      - absent
      - query
    default: query
  left:
    description: With O(state=present), the result of an update for which the places stay drained.
    type: str
    default: ""
attributes:
  check_mode:
    details: The file stays as it is.
extends_documentation_fragment:
  - kup.fleet.attributes
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Remember what is going to be drained
  kup.fleet.kup_drain_record:
    state: present
    places:
      - haproxy lb1 cache/node1
"""

RETURN = r"""
places:
  description: The names that there are afterwards, sorted.
  type: list
  elements: str
  returned: success
  sample: [haproxy lb1 cache/node1]
left:
  description: The result of an update for which they were left drained. Empty if a run that was killed has left them.
  type: str
  returned: success
  sample: partial
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kup.fleet.plugins.module_utils._drain import record
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import superuser


def change(wanted, check_mode):
    before = record.load()
    if wanted["state"] == "query":
        return before, before
    if wanted["state"] == "present":
        after = record.Drained(tuple(sorted({*before.places, *wanted["places"]})), wanted["left"])
    else:
        places = tuple(sorted(set(before.places) - set(wanted["places"])))
        after = record.Drained(places, before.left if places else "")
    if after != before and not check_mode:
        record.save(after)
    return before, after


def main():
    module = AnsibleModule(
        argument_spec={
            "places": {"type": "list", "elements": "str", "default": []},
            "state": {"type": "str", "choices": ["present", "absent", "query"], "default": "query"},
            "left": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    try:
        superuser.require()
        before, after = change(module.params, module.check_mode)
    except (KupError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=after != before, places=list(after.places), left=after.left)


if __name__ == "__main__":
    main()
