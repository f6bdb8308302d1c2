#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_report
short_description: Write down on the controller what has become of a node
version_added: 0.1.0
description:
  - With O(row), writes what is known of one node into a file of its own on the controller, C(rows/RUN_ID/NODE.json). That costs the
    same whatever the number of nodes, and many nodes can report at the same time.
  - Without O(row), merges all rows, and what is known of the whole rollout, into the report, C(RUN_ID.json). So the report is up to
    date when the rollout has begun, when it has its batches, and at its end, and whenever the playbook C(kup.fleet.kup_report) is run.
  - Adds a line to C(audit.jsonl) when a rollout begins, when the result of a node changes, and when the rollout ends.
  - It needs no connection to the node, so that it can be used in C(rescue) and C(always) for a node that is gone.
options:
  directory:
    description:
      - Directory for reports on the controller. It is made for its owner only if it does not exist. The report is the
        file C(RUN_ID.json) in it, and C(report.json) leads to that of the rollout that began last.
    type: path
    required: true
  run_id:
    description:
      - Id of the rollout, as M(kup.fleet.kup_plan) returned it. Required with O(row); otherwise the default is the rollout that
        C(report.json) leads to.
    type: str
  row:
    description:
      - What is known of a node. What an earlier call has said stays unless it is said anew. Suboptions that are not
        given are left as they are. No option of the whole rollout can be given at the same time.
    type: dict
    suboptions:
      name:
        description: Name of the node in the inventory.
        type: str
        required: true
      result:
        description:
          - V(pending) - its turn has not come.
          - V(under_way) - it is being updated; at the end of the rollout this becomes V(lost).
          - V(up_to_date) - it ran the target before.
          - V(committed) - it runs the target.
          - V(returned) - it was taken back to the old kernel, as was asked for, with its state.
          - V(fell_back) - it runs the old kernel again, with its state.
          - V(partial) - some services lost their state, the others have theirs, on the old or the new kernel.
          - V(aborted) - the switch was given up before the jump; its applications run on, unless the reason says otherwise.
          - V(failed) - something else went wrong.
          - V(lost) - it did not come back, or cannot be reached.
          - V(untouched) - the rollout stopped before its turn.
        type: str
        choices: [pending, under_way, up_to_date, committed, returned, fell_back, partial, aborted, failed, lost, untouched]
      reason:
        description: What went wrong, in one sentence.
        type: str
      fresh_units:
        description: Services that lost their state and were started fresh.
        type: list
        elements: str
      kernel_before:
        description: Release of the kernel that ran before.
        type: str
      kernel_after:
        description: Release of the kernel that runs now.
        type: str
      engine:
        description: Memory engine that was used.
        type: str
      engine_reasons:
        description: Why V(auto) has taken no better engine, a sentence each.
        type: list
        elements: str
        default: []
      phases:
        description: Seconds of each phase.
        type: dict
      outage_s:
        description: The node's own estimate of the outage, in seconds.
        type: float
      bytes:
        description: Size of the checkpoint images, in bytes.
        type: int
      memory:
        description: How each unit's memory travelled, as M(kup.fleet.kup_switch) returns it.
        type: dict
      rehearsal:
        description: What the rehearsal of the dump has shown of each unit, as M(kup.fleet.kup_rehearse) returns it.
        type: dict
      units:
        description: The units as they are now.
        type: list
        elements: dict
      numbers:
        description: The applications' own numbers before and after.
        type: dict
      timeline:
        description: What happened when.
        type: list
        elements: dict
      boot_id_before:
        description: Identity of the boot before.
        type: str
      boot_id:
        description: Identity of the boot now.
        type: str
  batches:
    description: Names of the nodes of each batch; every node gets a row in state V(pending).
    type: list
    elements: list
  started:
    description: When the rollout began, in seconds since the epoch.
    type: float
  way:
    description: Whether the nodes are updated, or taken back to their old kernels. It is given when the rollout begins.
    type: str
    choices:
      - update
      - back
  kernel:
    description: The kernel that was asked for.
    type: str
  judged:
    description: What M(kup.fleet.kup_judge) has found for each metric, after what it had found before.
    type: list
    elements: dict
  failed:
    description: Names of the nodes that failed.
    type: list
    elements: str
  unreachable:
    description: Names of the nodes that were never reached.
    type: list
    elements: str
  reason:
    description: Why the rollout stopped, empty if it did not.
    type: str
  finish:
    description:
      - The rollout is at its end. Nodes without a result get one, the time that it took is noted, and the files of the rows are
        removed. A rollout that has ended stays as it is.
      - The report is also written as a page, C(RUN_ID.html), and C(report.html) leads to the newest.
    type: bool
    default: false
  killed:
    description:
      - The rollout was killed, and does not run any more. As O(finish), but the end is when it wrote its last row.
    type: bool
    default: false
  show:
    description: Print the table, and write the page, also before the end.
    type: bool
    default: false
  textfile:
    description:
      - File for metrics of the rollout on the controller, for Prometheus, an absolute path that ends with C(.prom). Its directory has to
        exist. Empty is none.
      - With O(row) it is written unless it was a moment ago (a thousandth of a second for each node), otherwise in any case. If that fails, a
        warning says so.
    type: str
    default: ""
  lock:
    description:
      - Directory of the lock of the fleet, which is renewed with O(row), as M(kup.fleet.kup_lock) took it. If it is not of this run any more,
        a warning says so. Empty is no lock.
    type: path
    default: ""
attributes:
  check_mode:
    details: No file is written.
extends_documentation_fragment:
  - kup.fleet.attributes
  - kup.fleet.attributes.action
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Open the report
  kup.fleet.kup_report:
    directory: "{{ kup_report_dir }}"
    run_id: "{{ plan.run_id }}"
    batches: "{{ plan.batches }}"
    started: "{{ plan.started }}"
  run_once: true

- name: Report the node
  kup.fleet.kup_report:
    directory: "{{ kup_report_dir }}"
    run_id: "{{ plan.run_id }}"
    row:
      name: "{{ inventory_hostname }}"
      result: committed
      kernel_before: "{{ switch.kernel_before }}"
      kernel_after: "{{ switch.kernel }}"
      phases: "{{ switch.phases }}"
      outage_s: "{{ switch.outage_s }}"

- name: Close the report and show its table
  kup.fleet.kup_report:
    directory: "{{ kup_report_dir }}"
    run_id: "{{ plan.run_id }}"
    finish: true
    show: true
  run_once: true

- name: Bring the newest report up to date, whether its rollout runs or was killed
  kup.fleet.kup_report:
    directory: "{{ kup_report_dir }}"
    show: true
  run_once: true
"""

RETURN = r"""
path:
  description: The report's file.
  type: str
  returned: success
page:
  description: The file of the page.
  type: str
  returned: with O(finish), O(killed) or O(show), not in check mode
row:
  description: All that is known of the node.
  type: dict
  returned: with O(row)
  sample:
    name: node1
    kernel_before: 6.12.117+deb13-cloud-amd64
    kernel_after: 7.2.12+deb13-cloud-amd64
    result: committed
    outage_s: 5.2
rollout:
  description: What is known of the whole rollout. The rows are in the file RV(path).
  type: dict
  returned: without O(row)
  sample:
    run_id: 20260101T120000-3fa9c1
    batches:
      - [node1]
    result: committed
    started: 1767268800.1
    wall_s: 61.4
summary:
  description:
    - The report in short. C(nodes) has of each node its C(name), C(result), C(reason), C(kernel_before), C(kernel_after), C(outage_s) and
      C(fresh_units), where there is something to say. Those that need attention come first. C(left_out) is how many nodes more than 500
      there are.
  type: dict
  returned: with O(finish), O(killed) or O(show), not in check mode
  sample:
    nodes:
      - name: node1
        result: committed
        outage_s: 5.2
    left_out: 0
release:
  description:
    - The release of the target that nodes of the rollout run now. Empty if none does, if they run several, and where they were taken back.
  type: str
  returned: with O(finish), O(killed) or O(show), not in check mode
  sample: 7.2.12+deb13-cloud-amd64
table:
  description:
    - The report as lines for a person.
  type: list
  elements: str
  returned: with O(show)
"""
