#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_permit
short_description: Say whether a node may begin its update now, or wait for that
version_added: 0.1.0
description:
  - Compares the time on the controller with the maintenance windows of a rollout, and the rest of the open one with what the nodes of this
    rollout have needed so far, by the facts that its tasks leave with them.
  - Asks a file or an address whether the rollout goes on (O(control)). While it says V(pause), the task waits. It ends when the word is
    another, or when the maintenance window has no room left for a node, and the next one is not to be waited for (O(window_patience)).
  - Asks a Prometheus whether alerts are firing (O(alerts)).
options:
  node:
    description: The node, for messages.
    type: str
    required: true
  hosts:
    description: Names of all nodes of the rollout.
    type: list
    elements: str
    required: true
  permits:
    description:
      - What this task returned for the node before, at the beginning of its turn. Now it is ready for its switch, and what it has done
        before does not count any more.
    type: list
    elements: float
    default: []
  window:
    description: Times at which a node may begin, such as V(Mon-Fri 22:00-04:00). None is at any time.
    type: list
    elements: str
    default: []
  zone:
    description: Their time zone, such as V(Europe/Berlin). Empty is the controller's own.
    type: str
    default: ""
  cutoff:
    description: Seconds that must be left of the window. V(0) is as many as the slowest node has needed so far.
    type: int
    default: 0
  estimate:
    description: Seconds that must be left where no node has committed yet.
    type: int
    default: 600
  window_patience:
    description: Seconds that the node waits for the next window that has room for it. If none opens within them, it may not begin.
    type: int
    default: 0
  control:
    description:
      - The absolute path of a file on the controller, or an address that begins with C(http://) or C(https://). Its first word is V(go),
        V(pause) or V(abort). A file that is not there is V(go). What cannot be read or has another word is V(pause).
      - No more than 64 bytes are read, and no redirection is followed. Empty asks nobody.
    type: str
    default: ""
  alerts:
    description:
      - Address of a Prometheus, or of what answers as one. While an alert is firing, and while it cannot be asked, the node waits. Empty asks
        nobody.
      - No more than 1 MiB is read, and no redirection is followed.
    type: str
    default: ""
  alerts_ignore:
    description: Regular expressions of whole names of alerts that do not count.
    type: list
    elements: str
    default: []
  alerts_match:
    description: By label, a regular expression of its whole value. Alerts that do not fit all of them do not count.
    type: dict
    default: {}
  alerts_patience:
    description: Seconds that the node waits for O(alerts). Then it may not begin.
    type: int
    default: 900
  soak_until:
    description: The node waits until then, in seconds since the epoch, as M(kup.fleet.kup_budget) returned it.
    type: float
    default: 0.0
  lock:
    description:
      - Directory of the lock of the fleet, which is renewed. If it is not of the run O(run_id) any more, the node may not begin. While the
        directory cannot be used, the node waits. Empty is no lock.
    type: path
    default: ""
  run_id:
    description: Id of the rollout, for O(lock).
    type: str
    default: ""
attributes:
  check_mode:
    details: Nothing is ever changed.
extends_documentation_fragment:
  - kup.fleet.attributes
  - kup.fleet.attributes.action
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Ask whether the node may begin
  kup.fleet.kup_permit:
    node: "{{ inventory_hostname }}"
    hosts: "{{ ansible_play_hosts_all }}"
    control: /run/kup/control
    alerts: https://prometheus.example.net
    alerts_ignore: [Watchdog]
    window:
      - Sat 02:00-04:30
    zone: Europe/Berlin
  register: permit
"""

RETURN = r"""
reason:
  description: Why the node may not begin, as a part of a sentence. Empty if it may.
  type: str
  returned: success
  sample: the window Sat 02:00-04:00 closes at Sat 04:00, a node takes 320 s
waited:
  description: Seconds that the node had to wait. What has become of other nodes since is not known to this task.
  type: float
  returned: success
permits:
  description:
    - O(permits) with the time of this answer, in seconds since the epoch. Earlier times are as much later as the node has waited, so that
      waiting does not count as work.
  type: list
  elements: float
  returned: success
  sample: [1767268800.123]
"""
