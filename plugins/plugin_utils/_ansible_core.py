# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ansible-core that the controller has to have. ansible-core itself only warns, and fails by an exception later on."""

from __future__ import annotations

import yaml
from ansible.module_utils.compat.version import LooseVersion


def objection(version, runtime):
    """A sentence where ansible-core ``version`` is older than ``runtime``, the text of meta/runtime.yml, asks for; else empty."""
    wanted = yaml.safe_load(runtime)["requires_ansible"].removeprefix(">=")
    if LooseVersion(version) >= LooseVersion(wanted):
        return ""
    return (
        f"The controller has ansible-core {version}, expected {wanted} or later; install it, for example by "
        f"\"pip install 'ansible-core>={wanted}'\" in a virtual environment of Python 3.11 or later."
    )
