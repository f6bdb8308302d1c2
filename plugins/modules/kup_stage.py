#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_stage
short_description: Stage the new and the running kernel for a switch
version_added: 0.1.0
description:
  - Copies the new kernel and the running one, each with what it boots with, to a place of their own, proves that both can
    be loaded with kexec, makes the running kernel the boot loader's default until commit, and opens the node's
    transaction record in phase C(prepared).
  - The applications are not touched, no kernel stays loaded, and nothing happens to the node until M(kup.fleet.kup_switch) is called, which may
    be hours later.
options:
  kernel:
    description: Release of the installed kernel to update to, as M(kup.fleet.kup_preflight) returned it.
    type: str
    required: true
  units:
    description: Services that are to keep their state.
    type: list
    elements: str
    required: true
  on_unit_failure:
    description:
      - What follows where a unit cannot be restored on the new kernel. On the old kernel all others are restored in any case.
      - V(fall_back) and V(stop) take the node back with all units; a rollout ends after V(stop). V(continue) starts the unit fresh
        and goes on with the update.
    type: str
    choices:
      - fall_back
      - continue
      - stop
    default: fall_back
  unit_policies:
    description: The same for single units, a dictionary by their names.
    type: dict
    default: {}
  freeze_target:
    description:
      - With O(engine=foam), the seconds for which the applications may be frozen while the last changes are written. As
        long as a shorter freeze is to be expected, and this one is not, another round is done.
    type: float
    required: true
  freeze_max:
    description:
      - Seconds that the units may be frozen while CRIU writes their checkpoints; after that the switch is given up, and they go on.
      - V(0) is twice what their memory is expected to need, and 30 at least.
    type: int
    default: 0
  rounds_max:
    description: With O(engine=foam), the number of rounds at most; V(0) writes everything while they are frozen.
    type: int
    required: true
  ppp_bind:
    description:
      - With O(engine=ppp), when memory is put back. V(eager), before a unit runs; V(lazy), when it needs it, and the rest in the
        background, which both kernels have to be 6.12 for; V(auto), lazy for units with much memory where it can be done.
    type: str
    choices:
      - auto
      - eager
      - lazy
    required: true
  images_dir:
    description: Directory for the checkpoint images, on a local disk or in memory that outlives kexec.
    type: path
    required: true
  initramfs:
    description:
      - What the kernels boot with. V(auto) takes none where the kernel mounts its root file system by itself, else
        V(host-only), an initramfs with the drivers of this node; V(distribution) takes the one in /boot.
    type: str
    choices:
      - auto
      - host-only
      - distribution
    required: true
  restore_timeout:
    description:
      - Seconds that restoring one unit may take before the node goes back.
      - More if its memory needs more, by the pace at which it was copied.
    type: int
    required: true
  commit_timeout:
    description:
      - Seconds after the new kernel's start at which a node that nobody has committed goes back.
      - More if the units' memory needs more to come in, by the pace at which it was copied.
    type: int
    required: true
  watch_interval:
    description: Seconds between two looks of a node on probation at what M(kup.fleet.kup_gate) was given with V(remember); V(0) is never.
    type: int
    default: 0
  revert_backoff:
    description:
      - Whether the peers of the units' TCP connections are told by ICMP, as soon as packets flow again, to send at once what they would send
        again later.
    type: bool
    default: true
  park_connections:
    description:
      - Whether near peers of the units' TCP connections are told to send nothing during the outage, by a window of zero right before it, and
        to go on right after it.
    type: bool
    default: false
  quiesce_devices:
    description:
      - Whether the drivers of NVMe drives and network cards that nobody uses let go of them before the freeze, all at once. Otherwise the kernel that is left
        shuts them down one after the other, in the outage.
    type: bool
    default: false
attributes:
  check_mode:
    details: Nothing is changed on the node. Kernels that look staged are not loaded once more to prove it.
extends_documentation_fragment:
  - kup.fleet.attributes
  - kup.fleet.engine
  - kup.fleet.run
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Stage both kernels
  kup.fleet.kup_stage:
    kernel: 7.2.12+deb13-cloud-amd64
    units:
      - memcached.service
    engine: auto
    freeze_target: 0.3
    rounds_max: 5
    ppp_bind: auto
    ppp_disk_checkpoint: none
    images_dir: /var/lib/kup/images
    initramfs: auto
    restore_timeout: 120
    commit_timeout: 600
    watch_interval: 10
    run_id: 20260101T120000-3fa9c1
"""

RETURN = r"""
record:
  description: The node's transaction record. In check mode, the one that there is.
  type: dict
  returned: success
  sample:
    phase: prepared
    kernel_old: 6.12.117+deb13-cloud-amd64
    kernel_new: 7.2.12+deb13-cloud-amd64
engine_reasons:
  description: With O(engine=auto), why the node has to do without a better engine, a sentence each.
  type: list
  elements: str
  returned: success
packed:
  description:
    - Why a kernel is loaded as the packed file that it is, a sentence for each such release. It unpacks itself while the applications
      stand still, which takes a second or two longer.
  type: dict
  returned: success
  sample:
    7.2.12+deb13-cloud-amd64: The kernel is locked down and takes signed images only, and an unpacked image is not signed.
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kup.fleet.plugins.module_utils._boot import kernels as node_kernels
from ansible_collections.kup.fleet.plugins.module_utils._engines import checks, registry
from ansible_collections.kup.fleet.plugins.module_utils._errors import EngineError, KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import units
from ansible_collections.kup.fleet.plugins.module_utils._update import lock, staging
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records

# Options that the record keeps as they are, under the same names.
RECORDED = (
    "freeze_target",
    "freeze_max",
    "rounds_max",
    "ppp_bind",
    "restore_timeout",
    "commit_timeout",
    "watch_interval",
    "revert_backoff",
    "park_connections",
    "quiesce_devices",
)


def stage(wanted, check_mode, failed=None):
    """Stage both kernels with the best engine; those of ``failed`` (dict engine → `Blocker`) could not be prepared."""
    names, wish = units.full_names(wanted["units"]), registry.Wish.of(wanted)
    choice = registry.choose(
        wish,
        wanted["images_dir"],
        (node_kernels.running(), wanted["kernel"]),
        units=[units.Unit(name) for name in names],
        failed=failed,
    )
    settings = {
        **{name.upper(): str(wanted[name]) for name in RECORDED},
        "ENGINE": choice.engine,
        "PPP_DISK_CHECKPOINT": choice.disk_checkpoint,
        "IMAGES": wanted["images_dir"],
    }
    single = {units.full_name(name): policy for name, policy in wanted["unit_policies"].items()}
    settings["ON_FAILURE"] = records.policies(names, wanted["on_unit_failure"], single)
    plan = (wanted["kernel"], names, settings)
    if check_mode:
        return not staging.is_staged(*plan, owner=wanted["run_id"]), choice.reasons
    try:
        with lock.exclusive():
            return staging.stage(*plan, initramfs=wanted["initramfs"], owner=wanted["run_id"]), choice.reasons
    except EngineError as error:
        if wish.engine != registry.AUTO:
            raise
        return stage(wanted, check_mode, {**(failed or {}), choice.engine: checks.engine_failed(str(error))[0]})


def main():
    module = AnsibleModule(
        argument_spec={
            "kernel": {"type": "str", "required": True},
            "units": {"type": "list", "elements": "str", "required": True},
            "on_unit_failure": {"type": "str", "choices": list(records.POLICIES), "default": records.FALL_BACK},
            "unit_policies": {"type": "dict", "default": {}},
            **registry.OPTIONS,
            "freeze_target": {"type": "float", "required": True},
            "freeze_max": {"type": "int", "default": 0},
            "rounds_max": {"type": "int", "required": True},
            "ppp_bind": {"type": "str", "choices": ["auto", "eager", "lazy"], "required": True},
            "images_dir": {"type": "path", "required": True},
            "initramfs": {"type": "str", "choices": ["auto", "host-only", "distribution"], "required": True},
            "restore_timeout": {"type": "int", "required": True},
            "commit_timeout": {"type": "int", "required": True},
            "watch_interval": {"type": "int", "default": 0},
            "revert_backoff": {"type": "bool", "default": True},
            "park_connections": {"type": "bool", "default": False},
            "quiesce_devices": {"type": "bool", "default": False},
            "run_id": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    try:
        changed, reasons = stage(module.params, module.check_mode)
        record = records.load()
    except KupError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=changed, record=record.as_dict(), engine_reasons=reasons, packed=staging.packed(record))


if __name__ == "__main__":
    main()
