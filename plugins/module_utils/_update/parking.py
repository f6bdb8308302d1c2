# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Near peers of the applications' connections send nothing during the outage, and go on at once after it (files/fingerprint/parking).

They are chosen while the applications run, and told right before the network lock, while these stand still. The next boot tells all peers of
restored connections to go on (files/node/lib/backoff.sh). Where the switch is given up, those who were told hear of it at once. No trouble with it
keeps a node from its switch: a peer that is not told is as it would be without.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import sys

from .._errors import KupError
from .._files import read_lines
from .._paths import RUN
from .._system import processes
from . import fingerprint, network_lock

# Also for files/node/switch/clean-up, the second.
_LIST, _TOLD = RUN + "/near", RUN + "/parked"
# Seconds, of which the freeze needs a few milliseconds: the applications stand still.
_PATIENCE = 2


class Parking:
    """Of one attempt to leave this kernel. ``wanted``: whether peers are told at all."""

    def __init__(self, wanted):
        self._wanted, self._rules = wanted, ""

    def look(self, units):
        """Choose the peers that are to wait, of ``units`` (`systemd.Unit`), which run."""
        if not self._wanted:
            return
        with _told():
            trees = [each for unit in units for each in processes.in_cgroup(unit.cgroup)]
            fingerprint.write(_LIST, "near", *fingerprint.pids(trees))
            near = [_ends(line.split()) for line in read_lines(_LIST)[1:] if line]
            self._rules = network_lock.waiting_ruleset(near) if near else ""

    def begin(self):
        """Have them send nothing. The units stand still."""
        if self._rules:
            with _told():
                network_lock.apply(self._rules, timeout=_PATIENCE)
                fingerprint.write(_TOLD, "park", _LIST, timeout=_PATIENCE)

    def undo(self):
        """Let the kernel say again what there is room for, before packets flow."""
        if self._rules:
            network_lock.release(network_lock.WAITING)

    def go_on(self):
        """Tell those who were told to wait, when packets flow: the kernel does not know of it, and says nothing by itself."""
        if self._rules and os.path.exists(_TOLD):
            with _told("go on"):
                fingerprint.run_program("go-on", _TOLD, timeout=_PATIENCE)
            os.unlink(_TOLD)


def _ends(words):
    """Both ends of the connection in a line of the list."""
    own, own_port, peer, peer_port = words[4:]
    return _address(own), int(own_port), _address(peer), int(peer_port)


def _address(word):
    return str(ipaddress.ip_address(bytes.fromhex(word.removeprefix("x"))))


@contextlib.contextmanager
def _told(what="wait"):
    """Say what goes wrong, and go on."""
    try:
        yield
    except (KupError, OSError, ValueError) as error:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.write(f"Not all peers were told to {what}: {error}\n")
            sys.stdout.flush()
