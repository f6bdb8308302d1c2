#!/usr/bin/python
# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kup_programs
short_description: Build the nodes' programs on the controller where the collection has none
version_added: 0.1.0
description:
  - The programs V(paged) (the page daemon), V(environment) and V(fingerprint) are static and run on the nodes, and V(ends/kup_pairs.so) is a
    plug-in of CRIU, V(sums/kup_sums.so) is preloaded into kexec(8). C(make collection) puts them into the collection's tarball. A collection
    that C(ansible-galaxy) alone has built holds only their sources.
  - Builds them in the collection with C(make) and C(gcc). Fails with one sentence where that is not possible.
attributes:
  check_mode:
    details: Nothing is built. A controller that could not build them is refused all the same.
extends_documentation_fragment:
  - kup.fleet.attributes
  - kup.fleet.attributes.action
author:
  - The kup.fleet maintainers (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Build the programs that the collection lacks
  kup.fleet.kup_programs:
  run_once: true
"""

RETURN = r"""
built:
  description: Names of the programs that were built, or would be.
  type: list
  elements: str
  returned: success
runtime:
  description: Digest of all that M(kup.fleet.kup_runtime) installs on a node. M(kup.fleet.kup_preflight) says what a node has.
  type: str
  returned: success
"""
