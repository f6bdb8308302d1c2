# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of the modules that choose a memory engine for the node."""

from __future__ import annotations


class ModuleDocFragment:
    """O(engine), O(ppp_disk_checkpoint), O(survive)."""

    DOCUMENTATION = r"""
options:
  engine:
    description:
      - How memory gets from one kernel to the other.
      - V(criu) writes CRIU's own images to disk in the freeze and reads them back.
      - V(foam) writes a flat file while the applications serve, and reads it when they need their memory.
      - V(ppp) leaves memory where it is, by a patched image of the kernel.
      - V(auto) takes the first of V(ppp), V(foam), V(criu) that the node allows, that needs no further package, and that survives
        what O(survive) names.
    type: str
    choices:
      - auto
      - criu
      - foam
      - ppp
    required: true
  ppp_disk_checkpoint:
    description:
      - With the engine V(ppp), what a boot has to which no page frames were handed over, as after a power cut or a panic. V(foam) is a
        checkpoint in O(images_dir) that is made a moment before the switch, by that engine; V(none) is a fresh start.
    type: str
    choices:
      - none
      - foam
    required: true
  survive:
    description:
      - With O(engine=auto), what the applications' state has to survive at any moment of the update.
      - V(restore_failure) is a restore that fails; V(panic), a kernel that panics; V(power_cut), a node that loses its power.
    type: list
    elements: str
    choices:
      - restore_failure
      - panic
      - power_cut
    default:
      - restore_failure
      - panic
"""
