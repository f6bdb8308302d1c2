# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the documentation of every module says of check mode and diff mode."""

from __future__ import annotations


class ModuleDocFragment:
    """Each module adds ``details`` where there is more to say."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check mode and tell what it would change, without changing it.
    support: full
  diff_mode:
    description: Returns what was changed in diff mode.
    support: none
"""

    ACTION = r"""
options: {}
attributes:
  action:
    description: Indicates this has a corresponding action plugin so some parts of the options can be executed on the controller.
    support: full
"""
