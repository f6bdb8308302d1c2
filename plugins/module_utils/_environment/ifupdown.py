# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Services of ifupdown, Debian's own network manager, in a boot whose interfaces have their addresses before it comes.

It adds them, and gives an interface up where one is there already: its service fails, and what its hooks would have set is missing. In such a
boot it replaces them instead (files/node/addresses/ip).
"""

from __future__ import annotations

import os

from .._paths import RUNTIME

#: Interfaces of the boot, and those that udev has found. The first tells when the boot's are up.
MANAGER, HOTPLUG = "networking.service", "ifup@.service"

#: The last by name counts.
DROP_IN = "zz-kup-addresses.conf"

_PROGRAM = "/sbin/ifup"
_DROP_IN = f"""[Service]
Environment=PATH={RUNTIME}/addresses:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
"""


def drop_ins():
    """A drop-in for each of its services, where it is installed: dict unit → text."""
    return dict.fromkeys((MANAGER, HOTPLUG), _DROP_IN) if os.path.exists(_PROGRAM) else {}
