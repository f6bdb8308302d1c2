# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Connections that the packet filter's connection tracking treats in a way of its own: `_system.conntrack`."""

from __future__ import annotations

import os

from .._files import read_text
from .._system import conntrack

_FILTER = "/proc/sys/net/netfilter"
_NUMBER, _LOOSE = f"{_FILTER}/nf_conntrack_count", f"{_FILTER}/nf_conntrack_tcp_loose"


class Tracked:
    """What is noted of the units' connections. Most are asked for while the applications serve: a mark that comes later, and a helper (FTP), are
    not carried."""

    def __init__(self):
        self._asked = {}

    def look(self, sockets):
        """Ask for those of these `sockets.Socket` that are new.

        :raises OSError: the kernel does not answer.
        """
        if not os.path.exists(_NUMBER):  # no rule of this node needs it
            return
        # Several processes may have the same one.
        new = {_key(each): each for each in sockets if each.connected and _key(each) not in self._asked}
        self._asked.update(dict.fromkeys(new, b""))
        is_strict = read_text(_LOOSE, "1").strip() == "0"
        self._asked.update((_key(each), message) for each, message in conntrack.noted(new.values(), is_strict))

    def messages(self, sockets):
        """What `environment track` sends to the kernel, bytes: all that is noted of these."""
        if not any(self._asked.values()):
            return b""
        return b"".join(self._asked.get(key, b"") for key in dict.fromkeys(map(_key, sockets)))


def _key(socket):
    return socket.protocol, socket.local, socket.remote
