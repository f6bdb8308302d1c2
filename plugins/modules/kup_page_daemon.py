#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_page_daemon
short_description: Build the page daemon on the controller where the collection has none
version_added: 0.1.0
description:
  - The page daemon is a static program that runs on the nodes with every engine but V(criu). C(make collection) puts it into
    the collection's tarball. A collection that C(ansible-galaxy) alone has built holds only its source.
  - Builds it in the collection with C(make) and C(gcc). Fails with one sentence where that is not possible.
attributes:
  check_mode:
    details: Nothing is built. A controller that could not build it is refused all the same.
extends_documentation_fragment:
  - kup.fleet.attributes
  - kup.fleet.attributes.action
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Build the page daemon where the collection has none
  kup.fleet.kup_page_daemon:
  run_once: true
"""

RETURN = r"""
path:
  description: The program on the controller.
  type: str
  returned: success
"""
