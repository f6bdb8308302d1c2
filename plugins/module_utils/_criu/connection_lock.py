# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Who keeps packets away from connections while CRIU works on them.

CRIU can do so by itself: it has a table of nft, and adds each connection to it in a transaction of its own. Meanwhile it holds a
descriptor of every connection, and libnftables waits for the kernel by select(2), which knows no descriptor above 1023. So CRIU is
aborted in the middle of a dump with a thousand connections (seen with 4.2.1). Therefore the network lock holds all packets of the unit's
control group, which also covers a connection that was opened right before the freeze, and CRIU does without a lock (since 3.19).

The kernel has to know control groups in rules (``socket cgroupv2``, since 5.13), and so has nft.
"""

from __future__ import annotations

import functools
import shutil

from .._run import run
from .command import numbers

#: CRIU's names (``--network-lock``): its own table, and none.
OWN, NONE = "nftables", "skip"
#: Descriptors that CRIU can have open with its own table: those of all connections, and those of one process, `AT_ONCE` at most.
MOST, AT_ONCE = 960, 756
_SINCE = (3, 19)


def method(criu, cgroup):
    """CRIU's lock for a unit in this control group, `OWN` or `NONE`.

    :param criu: the version of CRIU; empty: not installed yet.
    """
    if criu and numbers(criu) < _SINCE:
        return OWN
    return NONE if _holds(cgroup.strip("/").partition("/")[0]) else OWN


def rule(cgroup):
    """nft's match for all packets of the sockets that processes of a control group have made."""
    path = cgroup.strip("/")
    return f'socket cgroupv2 level {path.count("/") + 1} "{path}"'


@functools.lru_cache
def _holds(slice_name):
    """Whether this kernel and this nft know such a rule: tried, without an effect."""
    if not shutil.which("nft"):  # it will be installed
        return True
    text = f"table inet kup_try {{\n\tchain input {{\n\t\ttype filter hook input priority 0;\n\t\t{rule(slice_name)} drop\n\t}}\n}}\n"
    return bool(slice_name) and run(["nft", "--check", "-f", "-"], stdin=text, check=False).returncode == 0
