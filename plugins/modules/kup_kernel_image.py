#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_kernel_image
short_description: Explain a kernel image, or patch it so that it keeps page frames of the kernel before it
version_added: 0.1.0
description:
  - Unpacks a distribution's kernel image (C(vmlinuz)), finds the one place where a reservation of page frames can be put
    into it, and writes an image that kexec boots and that reserves the frames of a table which the old kernel leaves.
  - An image that does not look exactly as expected is refused with a sentence that says what was expected.
  - The same image gives the same file, so it can be made once, on any Linux machine, and copied to a whole fleet.
options:
  path:
    description: The kernel image, e.g. C(/boot/vmlinuz-6.12.117+deb13-cloud-amd64).
    type: path
    required: true
  state:
    description:
      - V(inspected) looks at the image and says what it is and where it would be changed.
      - V(patched) writes the patched image into O(cache), unless it is there.
    type: str
    choices:
      - inspected
      - patched
    default: inspected
  cache:
    description:
      - Directory for patched images, for root only. A name in it is made of a digest of the image and one of the code
        that was put into it.
    type: path
    default: /var/lib/kup/patched
requirements:
  - python3-pyelftools, on the machine that reads the image
attributes:
  check_mode:
    details: The image is read and examined as without check mode, so one that cannot be patched is refused here, too.
extends_documentation_fragment:
  - kup.fleet.attributes
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Say whether the running kernel could be patched
  kup.fleet.kup_kernel_image:
    path: /boot/vmlinuz-{{ ansible_facts.kernel }}

- name: Patch the new kernel
  kup.fleet.kup_kernel_image:
    path: /boot/vmlinuz-7.2.12+deb13-cloud-amd64
    state: patched
  register: image
"""

RETURN = r"""
image:
  description: What the image is. Addresses are those at which the kernel is linked.
  type: dict
  returned: success
  contains:
    release:
      description: Release as C(uname -r) says it.
      type: str
      returned: always
      sample: 7.2.12+deb13-cloud-amd64
    version:
      description: What the image calls itself.
      type: str
      returned: always
    compression:
      description: How the kernel is packed, V(lz4), V(xz) or V(zstd).
      type: str
      returned: always
    unpacked_bytes:
      description: Size of the unpacked kernel with its relocations.
      type: int
      returned: always
    memory_bytes:
      description: Memory that the kernel takes where it runs.
      type: int
      returned: always
    symbols:
      description: Number of symbols in the kernel's own table.
      type: int
      returned: always
    kallsyms_layout:
      description: Release in which the layout of that table came.
      type: str
      returned: always
      sample: "7.0"
    relocations:
      description: Number of places that move with the kernel.
      type: int
      returned: always
    kaslr_slots:
      description: Number of virtual addresses that the kernel can start at; one is chosen at each start.
      type: int
      returned: always
    five_level_paging:
      description:
        - Whether the kernel can use 5-level page tables. One that cannot must not be started by one that does.
      type: bool
      returned: always
    call_address:
      description: Address of the call in C(setup_arch) that is redirected.
      type: str
      returned: always
      sample: "0xffffffff838adb4d"
    room_address:
      description: Address of the memory behind the kernel that takes the code.
      type: str
      returned: always
    room_bytes:
      description: Size of that memory.
      type: int
      returned: always
    code_bytes:
      description: Size of the code.
      type: int
      returned: always
patched:
  description: Path of the patched image.
  type: str
  returned: if O(state=patched)
  sample: /var/lib/kup/patched/2b8e7d41c9f50a6355b1f0d4c7a98e12-1f0c6a5be3d29478
blockers:
  description: Why this machine, as it runs now, could not start the patched image, as M(kup.fleet.kup_preflight) returns it.
  type: list
  elements: dict
  returned: success
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._image import image as kernel_image


def work(wanted, check_mode):
    kernel = kernel_image.read(wanted["path"])
    image = kernel_image.describe(kernel)
    blockers = [blocker.as_dict() for blocker in kernel_image.blockers(kernel)]
    result = {"changed": False, "image": image, "blockers": blockers}
    if wanted["state"] == "patched":
        result["patched"] = kernel_image.cached_path(kernel, wanted["cache"])
        result["changed"] = not kernel_image.is_cached(result["patched"])
        if result["changed"] and not check_mode:
            kernel_image.write(kernel_image.build(kernel), result["patched"])
    return result


def main():
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["inspected", "patched"], "default": "inspected"},
            "cache": {"type": "path", "default": "/var/lib/kup/patched"},
        },
        supports_check_mode=True,
    )
    try:
        result = work(module.params, module.check_mode)
    except KupError as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
