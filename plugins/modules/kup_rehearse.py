#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_rehearse
short_description: Prove that CRIU can dump a node's applications
version_added: 0.1.0
description:
  - Has CRIU really dump each service, as the switch does it, and lets it go on at once. The content of memory is left out, and what
    CRIU writes is removed. So what CRIU would refuse in the outage is known before, hours before it.
  - Each service is frozen once for a short time, one after the other. Its connections live on.
  - Fails with CRIU's first error for each service that it cannot dump. The node keeps that, so that M(kup.fleet.kup_preflight) refuses
    the service, too, until its main process, CRIU or the kernel is another.
  - Needs what M(kup.fleet.kup_runtime) and the role P(kup.fleet.kup_checkpoint#role) have installed.
options:
  units:
    description: Services to dump.
    type: list
    elements: str
    required: true
  rehearse_max:
    description:
      - The longest freeze, in seconds. The watchdog of a service (C(WatchdogSec=)) is extended meanwhile.
      - A service whose memory is expected to take longer is left alone. A dump that takes longer is ended.
    type: float
    default: 5
attributes:
  check_mode:
    details: No service is frozen, and nothing is known of any.
extends_documentation_fragment:
  - kup.fleet.attributes
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Prove that CRIU can dump the applications
  kup.fleet.kup_rehearse:
    units:
      - memcached.service
    rehearse_max: 2
"""

RETURN = r"""
units:
  description:
    - For each service a dictionary with C(verdict), C(sentence) and C(frozen_s), the seconds until it ran again.
    - The verdict is V(passed), V(refused), or V(skipped) where it is not known. The sentence says why it is not V(passed).
  type: dict
  returned: when the services were dumped
  sample:
    memcached.service:
      verdict: passed
      sentence: ""
      frozen_s: 0.084
notes:
  description: Why services were not dumped, a sentence each.
  type: list
  elements: str
  returned: when the services were dumped
blockers:
  description: What keeps services from being dumped, as M(kup.fleet.kup_preflight) returns it.
  type: list
  elements: dict
  returned: when the services were dumped
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kup.fleet.plugins.module_utils._blocker import sentences
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import units
from ansible_collections.kup.fleet.plugins.module_utils._update import rehearsal, service


def rehearse(wanted, check_mode):
    names = units.full_names(wanted["units"])
    if wanted["rehearse_max"] <= 0:
        raise KupError(f"rehearse_max is {wanted['rehearse_max']:g}, expected seconds above 0.")
    return {} if check_mode else service.rehearse(names, wanted["rehearse_max"])


def main():
    module = AnsibleModule(
        argument_spec={
            "units": {"type": "list", "elements": "str", "required": True},
            "rehearse_max": {"type": "float", "default": 5},
        },
        supports_check_mode=True,
    )
    try:
        results = rehearse(module.params, module.check_mode)
    except KupError as error:
        module.fail_json(msg=str(error))
    refused = rehearsal.refusals(results)
    notes = [result["sentence"] for result in results.values() if result["verdict"] == rehearsal.SKIPPED]
    found = {"units": results, "notes": notes, "blockers": [blocker.as_dict() for blocker in refused]}
    if refused:
        module.fail_json(msg=" ".join(sentences(refused)), **found)
    module.exit_json(changed=False, **found)


if __name__ == "__main__":
    main()
