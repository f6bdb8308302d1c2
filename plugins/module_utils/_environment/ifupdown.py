# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Services of ifupdown, Debian's own network manager, in a boot whose interfaces have their addresses before it comes.

ifupdown adds addresses and routes, and gives an interface up where one is there already: its service fails, and whatever the interface has
in ``/etc/network/interfaces`` and in hooks is left out. In such a boot it goes on.
"""

from __future__ import annotations

import os
import re

from .._system.units import commands, definition

#: Interfaces of the boot, and those that udev has found.
MANAGER, HOTPLUG = "networking.service", "ifup@.service"

#: Service that a drop-in is for → service that has read it once it has started.
READERS = {MANAGER: MANAGER, HOTPLUG: MANAGER}

#: The last by name counts.
DROP_IN = "zz-kup-addresses.conf"

_PROGRAM = "/sbin/ifup"
_WORD = "--ignore-errors"
# systemd tells of a template by any of its instances.
_SHOWN = {MANAGER: MANAGER, HOTPLUG: "ifup@kup.service"}


def drop_ins():
    """A drop-in for each of its services, where it is installed: dict unit → text. One whose commands are not those of ifupdown is left alone."""
    if not os.path.exists(_PROGRAM):
        return {}
    found = {name: _patient(commands(definition(shown))) for name, shown in _SHOWN.items()}
    return {name: text for name, text in found.items() if text}


def _patient(lines):
    """A drop-in with these commands, each call of ifup with a word that has it go on after an error; empty if that is none of them."""
    # A commit that is still to come has left the word there.
    altered = [re.sub(rf"\bifup( {_WORD})?(?= )", f"ifup {_WORD}", line) for line in lines]
    if not any(_WORD in line for line in altered) or any(line.endswith("\\") for line in lines):
        return ""
    return "".join(f"{line}\n" for line in ("[Service]", "ExecStart=", *(f"ExecStart={line}" for line in altered)))
