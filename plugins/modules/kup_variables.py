#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_variables
short_description: Refuse misspelled variables of this collection
version_added: 0.1.0
description:
  - Looks on the controller at the names of all variables that the command line, the play and its hosts set. Fails if one
    begins with C(kup_) and no role of this collection takes it, and says which name is the nearest.
  - Values are not looked at.
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
- name: Refuse misspelled variables
  kup.fleet.kup_variables:
  run_once: true
"""

RETURN = r"""
"""
