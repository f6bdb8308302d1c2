#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_preflight
short_description: Tell whether a node is fit for a kernel update
version_added: 0.1.0
description:
  - Looks at the kernels, CRIU, kexec, the boot loader, the disk and every process, descriptor and mapping of the units,
    and says in sentences what stands in the way of an update.
  - Changes nothing, and does not fail because of what it finds, so that the caller can collect the findings of a whole
    fleet. It fails on wrong arguments.
options:
  kernel:
    description:
      - The kernel to update to, V(newest), a series such as V(7.2), or a whole release.
    type: str
    required: true
  units:
    description: Services that are to keep their state.
    type: list
    elements: str
    required: true
  images_dir:
    description: Directory that is going to hold the checkpoint images. It needs not exist yet.
    type: path
    required: true
  freeze_target:
    description: Seconds to which copying beforehand is to bring the freeze, for the forecast of the outage.
    type: float
    default: 0.3
  leases:
    description:
      - By service, the seconds for which something elsewhere waits for it, such as the lease of a leader.
      - A service is refused if the outage is expected to take longer.
    type: dict
    default: {}
  any_distribution:
    description:
      - Whether a node may have another distribution than those on which updates have been tried, which are Debian 12, 13, 14 and testing.
      - It has a note then, instead of one blocker and no other.
    type: bool
    default: false
attributes:
  check_mode:
    details: Nothing is changed on the node.
extends_documentation_fragment:
  - kup.fleet.attributes
  - kup.fleet.engine
  - kup.fleet.run
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Judge the node
  kup.fleet.kup_preflight:
    kernel: "7.2"
    units:
      - memcached.service
    images_dir: /var/lib/kup/images
    engine: auto
    ppp_disk_checkpoint: none
    run_id: 20260101T120000-3fa9c1
  register: preflight

- name: Refuse an unfit node
  ansible.builtin.assert:
    that: preflight.fit
    fail_msg: "{{ preflight.problems }}"
"""

RETURN = r"""
fit:
  description: Whether nothing stands in the way. Missing packages do not count, for they can be installed.
  type: bool
  returned: always
problems:
  description: What stands in the way, a sentence each.
  type: list
  elements: str
  returned: always
blockers:
  description: The same as dictionaries, in the same order. The document docs/refusals.md of the collection lists all codes.
  type: list
  elements: dict
  returned: always
  contains:
    code:
      description: What kind of blocker it is. It stays the same when the sentence is rewritten.
      type: str
      returned: always
      sample: device-descriptor
    unit:
      description: The unit that is affected, empty for the whole node.
      type: str
      returned: always
      sample: memcached.service
    process:
      description: Name and pid of the process, empty if it is none.
      type: str
      returned: always
      sample: memcached[812]
    engine:
      description: The engine that is stopped while another may work, empty if the update is.
      type: str
      returned: always
    object:
      description: What stands in the way, such as a descriptor. Empty if it is the unit itself.
      type: str
      returned: always
      sample: descriptor 11 (/dev/fuse)
    why:
      description: What is wrong with it.
      type: str
      returned: always
      sample: is a device with state of its own
    help:
      description: What to do about it.
      type: str
      returned: always
      sample: stop using the device
    sentence:
      description: All of it as one sentence, as in RV(problems).
      type: str
      returned: always
selector:
  description: O(kernel), as given.
  type: str
  returned: always
  sample: "7.2"
running:
  description: Release of the running kernel.
  type: str
  returned: always
  sample: 6.12.117+deb13-cloud-amd64
target:
  description: Release of the installed kernel that O(kernel) means. V(none) where it has to be installed.
  type: str
  returned: always
  sample: 7.2.12+deb13-cloud-amd64
package:
  description: Package that would bring the kernel, if it is not installed.
  type: str
  returned: always
  sample: linux-image-7.2.12+deb13-cloud-amd64
release:
  description: Release that the node would be updated to, RV(target) or what RV(package) brings. Empty where there is neither.
  type: str
  returned: always
  sample: 7.2.12+deb13-cloud-amd64
needs_update:
  description:
    - Whether the node runs another kernel, or is still on probation on this one.
    - V(true) as well where that is not known, because the node is refused for its distribution.
  type: bool
  returned: always
missing:
  description:
    - Debian packages that the node needs and does not have.
    - What takes one of them is not judged before it is installed. Without C(criu), the engine is not chosen. Without
      C(python3-psutil), resident memory counts as 0, and whether all processes of a unit are one tree is not known.
  type: list
  elements: str
  returned: always
units:
  description:
    - A verdict for each unit, a dictionary with RV(units[].unit), RV(units[].movable), RV(units[].rss_bytes),
      RV(units[].shmem_bytes), RV(units[].processes), RV(units[].problems) and RV(units[].details).
  type: list
  elements: dict
  returned: always
  contains:
    unit:
      description: Full name of the unit.
      type: str
      returned: always
    movable:
      description: Whether its state can be carried over.
      type: bool
      returned: always
    rss_bytes:
      description: Resident memory of all its processes, in bytes.
      type: int
      returned: always
    shmem_bytes:
      description: How much of that is shared memory.
      type: int
      returned: always
    processes:
      description: Number of its processes.
      type: int
      returned: always
    connections:
      description: Number of its sockets that have a peer.
      type: int
      returned: if the unit is active
    mounts:
      description: File systems, by their places, that its restore waits for.
      type: list
      elements: str
      returned: if the unit is active
    problems:
      description: What stands in the way, a sentence each.
      type: list
      elements: str
      returned: always
    details:
      description: The same as dictionaries, as in RV(blockers).
      type: list
      elements: dict
      returned: always
disk_needed:
  description: Room that images need, and kernels if they go to the same file system, in bytes.
  type: int
  returned: always
disk_free:
  description: Free room at O(images_dir), in bytes.
  type: int
  returned: always
criu:
  description: Version of CRIU. V(none) where it is missing or not needed.
  type: str
  returned: always
engine:
  description: The engine that an update would use. V(none) where that is not known yet, or there is nothing to do.
  type: str
  returned: always
  sample: foam
engine_reasons:
  description: With O(engine=auto), why not a better one, a sentence each.
  type: list
  elements: str
  returned: always
disk_checkpoint:
  description: The engine of the disk checkpoint that would be made beside, or empty.
  type: str
  returned: always
outages_s:
  description: What RV(outage_s) would be with each of the engines, whether or not it can be used, by name.
  type: dict
  returned: always
  sample: {ppp: 9.1, foam: 9.4, criu: 14.2}
outage_s:
  description:
    - Seconds from the freeze to the first answer, about, by what the last update of the node took, or else by the start of the running
      kernel. V(none) where the engine is not known yet, or there is nothing to do.
  type: float
  returned: always
  sample: 11.4
notes:
  description: What is worth knowing and stops nothing, a sentence each, such as sysctls that differ from sysctl.d.
  type: list
  elements: str
  returned: always
phase:
  description: Phase of the node's transaction record, empty where there is none.
  type: str
  returned: always
drained:
  description: What a rollout has drained at balancers and not put back into service, each as C(BALANCER HOST PLACE).
  type: list
  elements: str
  returned: always
  sample: [haproxy lb1 cache/node1]
programs:
  description: The programs of the node's side of an update, name and SHA-256. Empty for one that is not installed as it should be.
  type: dict
  returned: always
runtime:
  description:
    - RV(kup.fleet.kup_programs#module:runtime) of the rollout that has installed the node's side of an update. Empty if any file of it is not as
      it was installed then.
  type: str
  returned: always
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kup.fleet.plugins.module_utils._engines import registry
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import superuser
from ansible_collections.kup.fleet.plugins.module_utils._update import preflight


def main():
    module = AnsibleModule(
        argument_spec={
            "kernel": {"type": "str", "required": True},
            "units": {"type": "list", "elements": "str", "required": True},
            "images_dir": {"type": "path", "required": True},
            **registry.OPTIONS,
            "freeze_target": {"type": "float", "default": 0.3},
            "leases": {"type": "dict", "default": {}},
            "any_distribution": {"type": "bool", "default": False},
            "run_id": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    wanted = module.params
    try:
        superuser.require()
        verdict = preflight.examine(
            wanted["kernel"],
            wanted["units"],
            wanted["images_dir"],
            registry.Wish.of(wanted),
            wanted["run_id"],
            freeze_target=wanted["freeze_target"],
            leases=wanted["leases"],
            any_distribution=wanted["any_distribution"],
        )
    except KupError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, fit=not verdict["problems"], **verdict)


if __name__ == "__main__":
    main()
