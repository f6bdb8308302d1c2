#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_runtime
short_description: Install on a node what brings its applications back without a controller
version_added: 0.1.0
description:
  - Installs the library of this collection, the shell beside it and a systemd generator on the node. They freeze the
    applications, and in the next boot bring them back, while no controller is there.
  - The source of the kernel module of engine V(ppp) is installed as well; only an update with that engine builds it.
  - The files come from the collection on the controller; nothing is downloaded.
  - The generator does nothing in a boot in which no update is under way.
options:
  state:
    description:
      - V(present) installs, and removes files that an older version of the collection has left.
      - V(absent) removes all of it. It is refused while an update is under way.
    type: str
    choices: [present, absent]
    default: present
  library:
    description: Texts of the library's files by name. Filled in by the action plugin; a playbook does not give it.
    type: dict
    default: {}
  node:
    description: Texts of the node's own files by name. Filled in by the action plugin; a playbook does not give it.
    type: dict
    default: {}
  kernel_module:
    description: Source of the kernel module by file name. Filled in by the action plugin; a playbook does not give it.
    type: dict
    default: {}
  programs:
    description:
      - Programs by name, each compressed by zlib and then in Base64. Filled in by the action plugin, with those that differ from
        O(installed); a playbook does not give it.
    type: dict
    default: {}
  installed:
    description: What M(kup.fleet.kup_preflight) has found as RV(kup.fleet.kup_preflight#module:programs). These programs are not sent again.
    type: dict
    default: {}
  sent:
    description: The digest of all that the node is to have. Filled in by the action plugin; a playbook does not give it.
    type: str
    default: ""
extends_documentation_fragment:
  - kup.fleet.attributes
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Look at the node
  kup.fleet.kup_preflight:
    kernel: "7.2"
    units: [memcached]
    images_dir: /var/lib/kup/images
    engine: auto
    ppp_disk_checkpoint: none
    run_id: by-hand
  register: fit

- name: Install the node's side of a kernel update
  kup.fleet.kup_runtime:
    installed: "{{ fit.programs }}"

- name: Remove it
  kup.fleet.kup_runtime:
    state: absent
"""

RETURN = r"""
files:
  description: Paths that were written or removed, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: [/usr/local/lib/kup/kup/_update/record.py]
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import runtime


def main():
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "library": {"type": "dict", "default": {}},
            "node": {"type": "dict", "default": {}},
            "kernel_module": {"type": "dict", "default": {}},
            "programs": {"type": "dict", "default": {}},
            "installed": {"type": "dict", "default": {}},
            "sent": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    wanted = {}
    if module.params["state"] == "present":
        wanted = runtime.layout(*(module.params[name] for name in ("library", "node", "kernel_module")))
    try:
        files = runtime.install(wanted, module.params["programs"], module.check_mode, module.params["sent"])
    except (KupError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(files), files=files)


if __name__ == "__main__":
    main()
