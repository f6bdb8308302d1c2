#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_notify
short_description: Tell others how a rollout goes
version_added: 0.1.0
description:
  - Sends a message to each receiver in the variable C(kup_notify) that wants the event, from the controller, by HTTP POST.
  - The addresses are credentials. So they are no option, and in no result, warning or file.
  - Never fails. It returns after 10 seconds at the latest. A receiver that has not taken the message by then has a warning.
options:
  event:
    description:
      - What has happened. V(turn) is a node's turn, which may have shown that the rollout has stopped (O(reason)) or that its first batch
        is done. Receivers get the event V(stop) or V(canary) then, each once in a rollout.
    type: str
    choices: [start, turn, end]
    required: true
  directory:
    description: Directory for reports on the controller. What is known of the rollout is taken from its report.
    type: path
    required: true
  run_id:
    description: Id of the rollout, as M(kup.fleet.kup_plan) returned it.
    type: str
    required: true
  node:
    description: With O(event=turn), the node whose turn it is.
    type: str
  batches:
    description: With O(event=turn), the nodes of each batch, as M(kup.fleet.kup_batches) returns them.
    type: list
    elements: list
    default: []
  reason:
    description: With O(event=turn), why the rollout has stopped. Empty if it has not.
    type: str
    default: ""
attributes:
  check_mode:
    details: Nothing is sent.
extends_documentation_fragment:
  - kup.fleet.attributes
  - kup.fleet.attributes.action
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Say that the rollout has begun
  kup.fleet.kup_notify:
    event: start
    directory: /var/log/kup
    run_id: 20261126T083000-1a2b3c
  run_once: true
"""

RETURN = r"""
event:
  description: The event, V(start), V(canary), V(stop) or V(end). Empty if nothing has happened.
  type: str
  returned: success
"""
