#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_lock
short_description: Let only one rollout of a fleet go on at a time
version_added: 0.1.0
description:
  - Takes, renews or releases a lock in a directory on the controller, which several controllers may share.
  - Fails if another run has the lock that O(state=taken) asks for. M(kup.fleet.kup_report) and M(kup.fleet.kup_permit) renew it, too; one
    that was not renewed for its time to live is taken over.
options:
  directory:
    description: A directory that outlives the run. Empty is no lock at all.
    type: path
    default: ""
  run_id:
    description: Id of the rollout, as M(kup.fleet.kup_plan) returned it.
    type: str
    required: true
  ttl:
    description: Seconds after which a lock that was not renewed is anybody's, for O(state=taken).
    type: int
    default: 7200
  state:
    description: With V(renewed) and V(released) the task does not fail if the lock is no longer of this run, and says so.
    type: str
    choices:
      - taken
      - renewed
      - released
    default: taken
attributes:
  check_mode:
    details: The lock is looked at, and who has it is said.
extends_documentation_fragment:
  - kup.fleet.attributes
  - kup.fleet.attributes.action
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Let no other rollout go on
  kup.fleet.kup_lock:
    directory: /srv/kup/lock
    run_id: 20261126T083000-1a2b3c
  run_once: true
"""

RETURN = r"""
trouble:
  description: Why the lock is not of this run, as a part of a sentence, or in check mode who has it. Empty if all is well.
  type: str
  returned: success
"""
