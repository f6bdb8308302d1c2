# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Checks of what CRIU cannot carry: of each open descriptor of a unit (see `seen.Descriptor`)."""

from __future__ import annotations

import socket

from .._blocker import check
from .checks import IN_MEMORY, NO_SHM
from .seen import JOURNAL

# criu/files.c, dump_one_file(): the anonymous inodes that have dump operations.
_ANONYMOUS = ("eventfd", "eventpoll", "timerfd", "signalfd", "inotify", "fanotify", "pidfd")
# criu/sockets.c, dump_socket().
_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_PACKET, socket.AF_NETLINK)
# criu/files.c, dump_chrdev(): devices of mem(4); any other has state in a driver.
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


@check
def shared_pipe(descriptor, around):
    """A pipe is shared with a process outside the unit, such as a logger."""
    del around
    if descriptor.holder:
        yield descriptor.text, f"is shared with pid {descriptor.holder}", "log to the journal, not to a pipe"


@check
def anonymous_inode(descriptor, around):
    """A descriptor is of a kind that CRIU cannot dump, such as a BPF map or a perf event."""
    del around
    kind, _colon, name = descriptor.target.partition(":")
    if kind == "anon_inode" and name.strip("[]") not in _ANONYMOUS:
        yield descriptor.text, "is of a kind that CRIU cannot dump", "switch that feature off"


@check
def connected_unix_socket(descriptor, around):
    """A unix socket is connected to a process outside the unit, other than the journal."""
    del around
    if descriptor.peer and descriptor.peer != JOURNAL:
        yield (
            f"descriptor {descriptor.number} (unix socket {descriptor.inode})",
            f"is connected to {descriptor.peer}",
            "end that connection for the update (a hook before the checkpoint can do it) or let the unit log to stdout",
        )


@check
def socket_family(descriptor, around):
    """A socket is of a family that CRIU cannot dump, such as vsock or the kernel's cryptography."""
    del around
    if descriptor.family is not None and descriptor.family not in _FAMILIES:
        yield (
            descriptor.text,
            f"is of family {descriptor.family}, which CRIU cannot dump",
            "switch off the feature that uses it",
        )


@check
def device_descriptor(descriptor, around):
    """A process has a device open that has state of its own."""
    del around
    device = descriptor.target.startswith("/dev/") and not descriptor.target.startswith(("/dev/shm/", "/dev/mqueue/"))
    if device and descriptor.target not in _DEVICES:
        yield descriptor.text, "is a device with state of its own", "stop using the device"


@check
def file_in_memory(descriptor, around):
    """A process has a file open that is in memory, such as one in /run or /dev/shm."""
    if descriptor.device in around.volatile:
        yield descriptor.text, IN_MEMORY, NO_SHM


@check
def foreign_mount(descriptor, around):
    """A process has a file open on a mount that the unit does not have."""
    del around
    if descriptor.external and descriptor.target != "/dev/null":
        yield descriptor.text, "lies on a mount outside the unit", "only /dev/null can be"


@check
def private_file(descriptor, around):
    """A process has a file open that other processes do not see by its path (`PrivateTmp=`, `BindPaths=` …)."""
    del around
    if descriptor.private:
        yield (
            descriptor.text,
            "lies in the unit's own file system view (PrivateTmp=, BindPaths=, RootDirectory=…)",
            "let it use a path that is the same outside of the unit",
        )


#: The first that applies to a descriptor tells.
DESCRIPTOR_CHECKS = (
    shared_pipe,
    anonymous_inode,
    connected_unix_socket,
    socket_family,
    device_descriptor,
    file_in_memory,
    foreign_mount,
    private_file,
)
