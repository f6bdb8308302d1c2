#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_boot_default
short_description: Keep the running kernel the boot loader's default while another is installed
version_added: 0.1.0
description:
  - Makes the running kernel GRUB's default entry, whatever kernels are installed from now on. Otherwise the package of a
    newer kernel would make that kernel the default before it has been tried.
  - M(kup.fleet.kup_commit) makes the new kernel the default.
  - Changes nothing on a node that is on probation on its new kernel, because its default is the old kernel.
extends_documentation_fragment:
  - kup.fleet.attributes
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Keep the running kernel the boot loader's default
  kup.fleet.kup_boot_default:
"""

RETURN = r"""
entry:
  description: GRUB's id of the running kernel's entry.
  returned: success
  type: str
  sample: gnulinux-advanced-0f0e9c9e>gnulinux-6.12.117+deb13-cloud-amd64-advanced-0f0e9c9e
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kup.fleet.plugins.module_utils._boot import grub, kernels
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import lock
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records


def keep_running_kernel(check_mode):
    running = kernels.running()
    entry = grub.entry(running)
    record = records.load()
    if record.unfinished and record["PHASE"] != "prepared":
        return False, entry
    if check_mode:
        return not grub.pinned() or grub.default() != entry, entry
    with lock.exclusive():
        return grub.pin(running), entry


def main():
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    try:
        changed, entry = keep_running_kernel(module.check_mode)
    except KupError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=changed, entry=entry)


if __name__ == "__main__":
    main()
