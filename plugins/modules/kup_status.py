#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_status
short_description: Tell whether a node needs an update of its kernel, a reboot, or a restart of services
version_added: 0.1.0
description:
  - Looks at the node and changes nothing.
options:
  kernel:
    description:
      - The kernel that is wanted, a series such as V("7.2"), a whole release, or V(newest).
      - It means the newest release of the running kernel's flavour that is installed or in the node's package lists.
    type: str
    default: newest
  any_distribution:
    description: Whether a node may have another distribution than Debian 12, 13, 14 and testing, on which updates have been tried.
    type: bool
    default: false
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
- name: Look at the node
  kup.fleet.kup_status:
  register: node

- name: Say whether it needs an update
  ansible.builtin.debug:
    msg: "{{ node.status.kernel.running }} -> {{ node.status.kernel.target }}"
  when: node.status.kernel.needs_update
"""

RETURN = r"""
status:
  description: What the node has said.
  type: dict
  returned: success
  contains:
    looked:
      description: When it was looked at, in seconds since the epoch, by the node's clock.
      type: float
      returned: always
    distribution:
      description: C(name), as os-release(5) has it, and C(refusal), a sentence that says why the node would be refused for it, or empty.
      type: dict
      returned: always
    kernel:
      description:
        - Releases - C(running), C(installed) and C(available) (the newest that is wanted, installed and in the package lists), C(target)
          (the newer of both). Empty where there is none.
        - Also C(needs_update), whether C(target) is another than C(running) (none if there is none, or the node would be refused);
          C(uptime_s), seconds since the kernel started; and C(built), when it was built, in seconds since the epoch, if its version says so.
      type: dict
      returned: always
    last_update:
      description: Of the record of the last update C(phase), C(reason), C(data), C(fresh_units), C(kernel_old), C(kernel_new), C(started).
      type: dict
      returned: always
    leftovers:
      description: Paths of what an update or a panic has left and nothing needs, and C(a loaded kernel).
      type: list
      elements: str
      returned: always
      sample: [/var/lib/kup/panic.log]
    preserved:
      description: Releases staged by M(kup.fleet.kup_stage), which a package removal does not take away.
      type: list
      elements: str
      returned: always
    drained:
      description: What a rollout has drained at balancers and not put back into service.
      type: list
      elements: str
      returned: always
    reboot:
      description:
        - What packages say with C(/run/reboot-required) - C(required), the names of the C(packages), and whether C(microcode) of the
          processor is among them.
      type: dict
      returned: always
    microcode:
      description:
        - Revisions of the processor's microcode, C(running) and C(available) (in the node's firmware files), and whether the latter C(is_newer).
          Empty on a virtual machine, and where they are not known.
      type: dict
      returned: always
    libraries:
      description:
        - C(units) that have code in memory which an upgrade has replaced, each with C(unit), C(count), and C(files) (names, ten at most).
        - C(complete) is false if there were too many processes or mappings to look at all.
      type: dict
      returned: always
    livepatches:
      description: Live patches of the running kernel, each with C(name), C(enabled) and C(transition).
      type: list
      elements: dict
      returned: always
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import superuser
from ansible_collections.kup.fleet.plugins.module_utils._update import status


def main():
    module = AnsibleModule(
        argument_spec={
            "kernel": {"type": "str", "default": "newest"},
            "any_distribution": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    try:
        superuser.require()
        found = status.gather(module.params["kernel"], module.params["any_distribution"])
    except (KupError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, status=found)


if __name__ == "__main__":
    main()
