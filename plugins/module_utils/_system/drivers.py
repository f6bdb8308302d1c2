# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The drivers that a device depends on, from sysfs."""

from __future__ import annotations

import os

# Drivers whose modules have another name.
_OTHERWISE = {"sd": "sd_mod"}


def chain(device):
    """Names, as modprobe(8) takes them, of the drivers between a device and the root bus.

    :param device: real path below /sys/devices.
    :returns: set of names, also of drivers that are built into the running kernel: another may have them as modules.
    """
    names = set()
    while device not in ("/", "/sys/devices"):
        driver = f"{device}/driver"
        if os.path.islink(driver):
            # A driver that is built in need not have the link.
            module = f"{driver}/module"
            name = os.path.basename(os.path.realpath(module if os.path.islink(module) else driver))
            names.add(_OTHERWISE.get(name, name.replace("-", "_")))
        device = os.path.dirname(device)
    # Part of the bus code, not a module of any kernel.
    return names - {"pcieport", "pcieportdrv"}
