#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_ready
short_description: Set what lets a node's applications keep their state
version_added: 0.1.0
description:
  - For each blocker that a setting of the service removes, writes that setting into a file of its own, a drop-in of the unit or a snippet of
    the program's configuration. The file says what the setting costs. No other file is changed.
  - A setting counts from the next start of the service, which costs the service its state. So the services are started anew within
    O(window) only.
options:
  blockers:
    description: What stands in the way, as M(kup.fleet.kup_preflight) returns it.
    type: list
    elements: dict
    default: []
  units:
    description: The services. Blockers of others are left alone.
    type: list
    elements: str
    required: true
  window:
    description:
      - When services may be started anew, by the node's clock, such as V(02:00-04:30) or V(Mon-Fri 22:00-04:00), or
        V(always).
      - Empty means never. Then the files are written, and the next start of each service takes its settings.
    type: str
    default: ""
  state:
    description: V(absent) removes the files of O(units).
    type: str
    choices:
      - present
      - absent
    default: present
attributes:
  check_mode:
    details: No file is written, and no service is started anew.
  diff_mode:
    description: Returns the files before and after.
    support: full
extends_documentation_fragment:
  - kup.fleet.attributes
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Set what lets redis keep its state
  kup.fleet.kup_ready:
    blockers: "{{ preflight.blockers }}"
    units:
      - redis-server.service
    window: "02:00-04:30"
"""

RETURN = r"""
files:
  description: Paths of the files that were written or removed.
  type: list
  elements: str
  returned: always
restarted:
  description: Services that were started anew.
  type: list
  elements: str
  returned: always
waiting:
  description: Services that have to be started anew, and were not.
  type: list
  elements: str
  returned: always
expected:
  description: For each service the codes of the blockers that are gone after its next start.
  type: dict
  returned: always
  sample:
    redis-server.service:
      - user-namespace
left:
  description: Sentences of blockers that no setting removes.
  type: list
  elements: str
  returned: always
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._ready import files, restarts
from ansible_collections.kup.fleet.plugins.module_utils._system import superuser, units


def make(wanted, check_mode):
    names = units.full_names(wanted["units"])
    may_restart = restarts.is_open(wanted["window"])
    blockers = [blocker for blocker in wanted["blockers"] if blocker["unit"] in names]
    plan = files.absent(names) if wanted["state"] == "absent" else files.present(blockers)
    restarted = sorted(plan.units) if may_restart else []
    if not check_mode:
        files.apply(plan.changes)
        if plan.changes or restarted:
            restarts.restart(restarted)
    return plan, restarted


def main():
    module = AnsibleModule(
        argument_spec={
            "blockers": {"type": "list", "elements": "dict", "default": []},
            "units": {"type": "list", "elements": "str", "required": True},
            "window": {"type": "str", "default": ""},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    try:
        superuser.require()
        plan, restarted = make(module.params, module.check_mode)
    except KupError as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=bool(plan.changes or restarted),
        diff=[
            {"before_header": each.path, "after_header": each.path, "before": each.before, "after": each.after}
            for each in plan.changes
        ],
        files=[each.path for each in plan.changes],
        restarted=restarted,
        waiting=sorted(set(plan.units) - set(restarted)),
        expected=plan.units,
        left=[blocker["sentence"] for blocker in plan.left],
    )


if __name__ == "__main__":
    main()
