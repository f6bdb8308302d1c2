# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Unix sockets and their peers, from ss(8) (sock_diag: /proc/net/unix does not tell peers)."""

from __future__ import annotations

from .._run import run


class UnixSocket:
    """``kind`` (u_str, u_dgr, u_seq), ``path`` (``*`` where unnamed), ``inode``, ``peer`` (inode, 0: none)."""

    def __init__(self, row):
        # u_str ESTAB 0 0 /run/systemd/journal/stdout 2345 * 2344
        fields = row.split()
        self.kind, self.state = fields[0], fields[1]
        self.path, self.inode = fields[4], int(fields[5])
        self.peer = int(fields[7]) if fields[7].isdigit() else 0


def table():
    """All unix sockets of this network namespace: dict inode → `UnixSocket`."""
    rows = run(["ss", "--unix", "--all", "--numeric", "--no-header"]).stdout.splitlines()
    sockets = [UnixSocket(row) for row in rows if row.startswith("u_")]
    return {socket.inode: socket for socket in sockets}
