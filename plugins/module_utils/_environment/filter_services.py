# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Services that load the node's packet filter at boot, and do no more than that.

The early boot has put the filter of before the switch in force by then. Rules that such a service adds would be there twice, and a service
that begins with a flush would undo what somebody has set since the boot. So its first start in a boot that restores leaves the filter as it
is, if the early boot has loaded it. A restart or reload is the service's own.

fail2ban makes rules of its own for each ban that still holds, whether they are there or not, and removes one when a ban ends: the other would
stay for ever. What is its own is removed before its first start in such a boot, until which the bans hold.
"""

from __future__ import annotations

from .._paths import RUN, RUNTIME
from .._system.units import commands, definition, show

#: Of nftables and iptables-persistent. Others compare, or replace their own tables: firewalld, ufw, docker.
LOADERS = ("nftables.service", "netfilter-persistent.service")

MAKER = "fail2ban.service"

#: Service that a drop-in is for → service that has read it once it has started.
READERS = {name: name for name in (*LOADERS, MAKER)}

#: The last by name counts.
DROP_IN = "zz-kup-filter.conf"

# $$: systemd's way to write $ for the shell. files/node/boot/early makes the file.
_DROP_IN = f"""[Service]
ExecStart=
ExecStart=/bin/sh -c 'rm {RUN}/%s.filtered 2>/dev/null || exec "$$@"' sh %s
"""
_CLEARED = f"""[Service]
ExecStartPre=-+/bin/sh -c 'rm {RUN}/{MAKER}.filtered 2>/dev/null && exec /bin/sh {RUNTIME}/boot/clear-bans.sh'
"""


def drop_ins():
    """A drop-in for each of these services that has loaded a filter in this boot: dict unit → text. One that does it by several commands, or
    not by a plain one, is left alone."""
    found = {}
    for name in LOADERS:
        told = show(name, "ActiveState", "Type", "RemainAfterExit")
        if (told["ActiveState"], told["Type"], told["RemainAfterExit"]) != ("active", "oneshot", "yes"):
            continue
        lines = commands(definition(name))
        if len(lines) == 1 and lines[0].startswith("/") and not lines[0].endswith("\\"):
            found[name] = _DROP_IN % (name, lines[0])
    if show(MAKER, "ActiveState")["ActiveState"] == "active":
        found[MAKER] = _CLEARED
    return found
