#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_textfile
short_description: Leave metrics for Prometheus on a node
version_added: 0.1.0
description:
  - Writes a file for the textfile collector of Prometheus' node exporter, or another program that reads files of metrics. It is replaced as
    a whole, and is readable by all.
options:
  directory:
    description:
      - The collector's directory. It has to exist. A symbolic link on the way to it is followed if it is root's.
    type: path
    required: true
  status:
    description: What M(kup.fleet.kup_status) has returned as RV(kup.fleet.kup_status#module:status). Written to C(kup_status.prom).
    type: dict
  update:
    description:
      - What is known of the last update of the node. Written to C(kup_update.prom).
    type: dict
    suboptions:
      result:
        description: What has become of the node, as M(kup.fleet.kup_report) takes it.
        type: str
        required: true
      kernel_before:
        description: Release of the kernel that ran before.
        type: str
      kernel_after:
        description: Release of the kernel that runs now.
        type: str
      engine:
        description: Memory engine that was used.
        type: str
      outage_s:
        description: The outage in seconds.
        type: float
      run_id:
        description: The rollout.
        type: str
attributes:
  check_mode:
    details: Nothing is written.
extends_documentation_fragment:
  - kup.fleet.attributes
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Leave what the node needs for its monitoring
  kup.fleet.kup_textfile:
    directory: /var/lib/prometheus/node-exporter
    status: "{{ looked.status }}"
"""

RETURN = r"""
paths:
  description: The files.
  type: list
  elements: str
  returned: success
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._metrics import exposition, status, textfile, update
from ansible_collections.kup.fleet.plugins.module_utils._update import record

_TEXT = {"type": "str"}


def files(wanted):
    """Dict name → content."""
    found = {}
    if wanted["status"]:
        gauges = exposition.Gauges()
        status.add(gauges, wanted["status"], record.PHASES)
        found["kup_status.prom"] = gauges.text()
    if wanted["update"]:
        gauges = exposition.Gauges()
        update.add(gauges, wanted["update"], time.time())
        found["kup_update.prom"] = gauges.text()
    return found


def main():
    described = dict.fromkeys(("kernel_before", "kernel_after", "engine", "run_id"), _TEXT)
    described |= {"result": {"type": "str", "required": True}, "outage_s": {"type": "float"}}
    module = AnsibleModule(
        argument_spec={
            "directory": {"type": "path", "required": True},
            "status": {"type": "dict"},
            "update": {"type": "dict", "options": described},
        },
        required_one_of=[("status", "update")],
        supports_check_mode=True,
    )
    directory, found = module.params["directory"], files(module.params)
    try:
        for name, text in found.items() if not module.check_mode else ():
            textfile.write(directory, name, text, "kup_textfile_dir")
    except KupError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(found), paths=[f"{directory}/{name}" for name in found])


if __name__ == "__main__":
    main()
