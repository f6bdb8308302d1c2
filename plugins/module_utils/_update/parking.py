# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Near peers of the applications' connections send nothing during the outage, and go on at once after it (files/fingerprint/parking).

They are chosen while the applications run, and told right before the network lock, while these stand still. The next boot tells all peers of
restored connections to go on (files/node/lib/backoff.sh). Where the switch is given up, the kernel's own segments tell them so. No trouble with it
keeps a node from its switch: a peer that is not told is as it would be without.
"""

from __future__ import annotations

import contextlib
import ipaddress
import sys

from .._errors import KupError
from .._files import read_lines
from .._paths import RUN
from .._system import processes
from . import fingerprint, network_lock

_LIST = RUN + "/near"


class Parking:
    """Of one attempt to leave this kernel. ``wanted``: whether peers are told at all."""

    def __init__(self, wanted):
        self._wanted, self._rules = wanted, ""

    def look(self, units):
        """Choose the peers that are to wait, of ``units`` (`systemd.Unit`), which run."""
        if not self._wanted:
            return
        with _told():
            fingerprint.write(_LIST, "near", [each for unit in units for each in processes.in_cgroup(unit.cgroup)])
            near = [_ends(line.split()) for line in read_lines(_LIST)[1:] if line]
            self._rules = network_lock.waiting_ruleset(near) if near else ""

    def begin(self):
        """Have them send nothing. The units stand still."""
        if self._rules:
            with _told():
                network_lock.apply(self._rules)
                fingerprint.run_program("park", _LIST)

    def undo(self):
        """Let the kernel say again what there is room for, before packets flow."""
        if self._rules:
            network_lock.release(network_lock.WAITING)


def _ends(words):
    """Both ends of the connection in a line of the list."""
    own, own_port, peer, peer_port = words[4:]
    return _address(own), int(own_port), _address(peer), int(peer_port)


def _address(word):
    return str(ipaddress.ip_address(bytes.fromhex(word.removeprefix("x"))))


@contextlib.contextmanager
def _told():
    """Say what goes wrong, and go on."""
    try:
        yield
    except (KupError, OSError, ValueError) as error:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.write(f"Not all peers were told to wait: {error}\n")
            sys.stdout.flush()
