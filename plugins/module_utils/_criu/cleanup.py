# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The clean-up after a CRIU that was killed in a dump. It leaves a table that drops the tree's packets, and connections in repair mode."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import socket
import subprocess

from .._files import read_text
from .._run import run
from .._system.units import Unit

_LIST = ["nft", "list", "tables"]
_BEFORE = "tables"  # in the dump's directory
_TCP_REPAIR = 19  # linux/tcp.h
_PIDFD_GETFD = 438  # the number of the system call, on every architecture


def before(directory):
    """Start to list the tables of the packet filter for `undo`, before CRIU dumps into ``directory``.

    :returns: the process that lists; wait for it before `undo`, not before the dump.
    """
    listing = os.open(f"{directory}/{_BEFORE}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        return subprocess.Popen(_LIST, stdin=subprocess.DEVNULL, stdout=listing)  # pylint: disable=ansible-bad-function
    finally:
        os.close(listing)


def undo(name, directory):
    """Let packets of the unit ``name`` pass again, and its connections work.

    :param directory: of its dump. Tables from before the dump stay: they belong to other programs that dump or restore by CRIU.
    """
    for table in sorted(_locks(run(_LIST, check=False).stdout) - _locks(read_text(f"{directory}/{_BEFORE}", ""))):
        run(["nft", "delete", "table", "inet", table], check=False)
    for process in Unit(name).processes:
        with contextlib.suppress(OSError):  # it may end meanwhile
            _end_repair(process)


def _locks(listing):
    """The names of CRIU's tables: a set."""
    return set(re.findall(r"^table inet (CRIU-\S+)$", listing, re.MULTILINE))


def _end_repair(process):
    libc = ctypes.CDLL(None, use_errno=True)
    pidfd = os.pidfd_open(process.pid)
    try:
        for number, target in process.descriptors():
            if not target.startswith("socket:"):
                continue
            copy = libc.syscall(_PIDFD_GETFD, pidfd, number, 0)
            if copy < 0:
                continue  # closed since
            with socket.socket(fileno=copy) as connection, contextlib.suppress(OSError):  # not TCP
                if connection.getsockopt(socket.IPPROTO_TCP, _TCP_REPAIR):
                    connection.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, 0)
                    # Repair mode has cleared it: without it the application could not listen on this port again.
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    finally:
        os.close(pidfd)
