# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The option of the modules that start something on a node which goes on by itself."""

from __future__ import annotations


class ModuleDocFragment:
    """O(until)."""

    DOCUMENTATION = r"""
options:
  until:
    description:
      - The uptime of the node, in seconds, after which nothing is started any more. V(0) is none.
      - Set by the action plugin of the same name, which does not wait for the node's answer for ever. Not for playbooks.
    type: float
    default: 0.0
"""
