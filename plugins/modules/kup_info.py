#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_info
short_description: Tell what a node is and can, as far as a kernel update is concerned
version_added: 0.1.0
description:
  - Looks at the node and changes nothing.
options:
  units:
    description: Services to judge, whether they can be moved to another kernel with their state.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    details: Nothing is ever changed.
extends_documentation_fragment:
  - kup.fleet.attributes
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Look at the node
  kup.fleet.kup_info:
    units:
      - memcached.service
  register: node

- name: Say which kernel it runs and what its last update came to
  ansible.builtin.debug:
    msg: "{{ node.kup.kernel_running }}, {{ node.kup.record.phase or 'never updated' }}"
"""

RETURN = r"""
kup:
  description: What the node is and can.
  type: dict
  returned: success
  contains:
    kernel_running:
      description: Release of the running kernel.
      type: str
      returned: always
      sample: 6.12.117+deb13-cloud-amd64
    kernels_installed:
      description: Releases that have an image and modules, oldest first.
      type: list
      elements: str
      returned: always
    kernels_preserved:
      description: Releases staged by M(kup.fleet.kup_stage), which a package removal does not take away.
      type: list
      elements: str
      returned: always
    kexec_loaded:
      description: Whether a kernel is loaded for the next switch.
      type: bool
      returned: always
    boot_id:
      description: Identity of the running boot.
      type: str
      returned: always
    uptime_s:
      description: Seconds since the kernel started.
      type: float
      returned: always
    boot_default:
      description: The boot loader's saved default entry. Empty where none is saved.
      type: str
      returned: always
    criu:
      description: Version of CRIU. V(none) where it is not installed.
      type: str
      returned: always
      sample: 4.2.1
    blockers:
      description: Why this node cannot kexec, or its boot loader cannot be told what to boot, as M(kup.fleet.kup_preflight) returns it.
      type: list
      elements: dict
      returned: always
    lockdown:
      description: Lockdown mode of the kernel, V(none), V(integrity) or V(confidentiality).
      type: str
      returned: always
    memory_bytes:
      description: Memory of the node with C(total) and C(available), in bytes.
      type: dict
      returned: always
    record:
      description: The transaction record of the last update. Its phase is empty if there has been none.
      type: dict
      returned: always
    drained:
      description:
        - What a rollout has drained at balancers and not put back into service, each as C(BALANCER HOST PLACE).
        - See the role P(kup.fleet.kup_drain#role).
      type: list
      elements: str
      returned: always
      sample: [haproxy lb1 cache/node1]
    environment_lacks:
      description:
        - What the last restore of this boot could not put in place, a line each with unit, object and cause.
        - The plan of it is C(/var/lib/kup/boot/N/environment) until the commit.
      type: list
      elements: str
      returned: always
    services_running:
      description: All services that run, without those in O(units). A switch ends them, and the new kernel starts them afresh.
      type: list
      elements: str
      returned: always
    units:
      description: A verdict for each of O(units), as M(kup.fleet.kup_preflight) returns it.
      type: list
      elements: dict
      returned: always
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import superuser
from ansible_collections.kup.fleet.plugins.module_utils._update import info


def main():
    module = AnsibleModule(
        argument_spec={"units": {"type": "list", "elements": "str", "default": []}},
        supports_check_mode=True,
    )
    try:
        superuser.require()
        facts = info.gather(module.params["units"])
    except KupError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, kup=facts)


if __name__ == "__main__":
    main()
