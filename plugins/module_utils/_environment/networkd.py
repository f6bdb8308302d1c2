# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""systemd-networkd in a boot whose interfaces have their addresses before it comes.

When it begins with an interface, it removes addresses and routes that its configuration does not have (src/network/networkd-address.c,
link_drop_unmanaged_addresses(); networkd-route.c has the same). The address of a DHCP lease is among them, until the server has given it
once more: for seconds no application of the node could be reached. So is an address that somebody has added while the node ran, and that
for good. In such a boot it keeps what is there.
"""

from __future__ import annotations

import glob
import json
import os

from .._errors import KupError
from .._run import run
from . import plan

SERVICE = "systemd-networkd.service"

_FOLDER = "/run/systemd/network"
# The last by name counts.
_DROP_IN = "zz-kup-addresses.conf"
_TEXT = "# Of the kernel update by kup.fleet, until the commit.\n[Network]\nKeepConfiguration=yes\n"


def put_plan(plans):
    """Write the plan of a drop-in for each of its files by which an interface is configured at present."""
    names = _used()
    if names:
        steps = [plan.step("directory", plan.NODE, (_FOLDER, "755", 0, 0))]
        for name in names:
            steps += plan.text_steps(plans, f"{_FOLDER}/{name}.d/{_DROP_IN}", _TEXT)
        plans.put("2-networkd", steps)


def drop_ins():
    """Paths of the drop-ins that this boot has."""
    return glob.glob(f"{_FOLDER}/*.network.d/{_DROP_IN}")


def _used():
    """Names of the files, sorted. None where it does not run."""
    try:
        told = json.loads(run(["networkctl", "--json=short", "status"], check=False).stdout)
    except (KupError, ValueError):
        return []
    files = {link.get("NetworkFile") or "" for link in told.get("Interfaces", [])}
    return sorted({os.path.basename(path) for path in files} - {""})
