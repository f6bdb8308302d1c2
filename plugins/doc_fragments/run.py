# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The option of every module that works for one rollout."""

from __future__ import annotations


class ModuleDocFragment:
    """O(run_id)."""

    DOCUMENTATION = r"""
options:
  run_id:
    description:
      - Id of the rollout that asks. Another rollout is kept away from the node while this one is at work.
    type: str
    required: true
"""
