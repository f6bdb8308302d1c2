# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: kup_row
short_description: What has become of a node of a rollout so far
version_added: 0.1.0
description:
  - For the playbooks of this collection. A node's row of the report, from what their tasks have registered for the node.
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Write down where the node stands
  kup.fleet.kup_report:
    directory: "{{ kup_report_dir }}"
    run_id: "{{ plan.run_id }}"
    row: "{{ lookup('kup.fleet.kup_row') }}"
"""

RETURN = r"""
_raw:
  description: What O(kup.fleet.kup_report#module:row) takes.
  type: list
  elements: dict
"""

from ansible.plugins.lookup import LookupBase

from ansible_collections.kup.fleet.plugins.plugin_utils import _row


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        return [_row.of(variables, variables["inventory_hostname"])]
