# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Checks of what CRIU cannot carry: of each open descriptor of a unit (see `seen.Descriptor`)."""

from __future__ import annotations

import socket

from .._blocker import check
from .checks import IN_MEMORY, NO_SHM, too_large
from .command import numbers
from .seen import JOURNAL

# criu/files.c, dump_one_file(): the anonymous inodes that have dump operations.
_ANONYMOUS = ("eventfd", "eventpoll", "timerfd", "signalfd", "inotify", "fanotify", "pidfd")
# criu/sockets.c, dump_socket().
_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_PACKET, socket.AF_NETLINK)
# criu/sk-inet.c, can_dump_ipproto().
_PROTOCOLS = (
    *(socket.IPPROTO_IP, socket.IPPROTO_TCP, socket.IPPROTO_UDP),
    *(136, socket.IPPROTO_ICMP, socket.IPPROTO_ICMPV6),  # 136: UDP-Lite
)
_GROUPS = 32  # criu/sk-netlink.c, dump_one_netlink_fd()
# include/uapi/linux/in.h: name, and what to do
_NAMES = {
    262: ("MPTCP", "turn MPTCP off (programs in Go: GODEBUG=multipathtcp=0)"),
    132: ("SCTP", "switch off the feature that uses it"),
    33: ("DCCP", "switch off the feature that uses it"),
}
# criu/files.c, dump_chrdev(): devices of mem(4); any other has state in a driver.
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


@check
def shared_pipe(descriptor, around):
    """A pipe is shared with a process outside the unit, such as a logger."""
    del around
    if descriptor.holder and not descriptor.connection and not descriptor.target.startswith("socket:"):
        yield descriptor.text, f"is shared with pid {descriptor.holder}", "log to the journal, not to a pipe"


@check
def shared_end(descriptor, around):
    """One end of a unix connection to another carried unit is also held by a process outside of the unit."""
    del around
    if descriptor.holder and not descriptor.connection and descriptor.target.startswith("socket:"):
        yield (
            descriptor.text,
            f"is one end of a connection to another unit, and is shared with pid {descriptor.holder}",
            "end that connection for the update (a hook before the checkpoint can do it)",
        )


@check
def made_by_another(descriptor, around):
    """The other end of a connection to another carried unit was made by a process that is not carried, such as systemd (`X.socket`)."""
    del around
    if descriptor.maker:
        yield (
            descriptor.text,
            f"is connected to a socket of another unit that was made by pid {descriptor.maker}, which is not carried (SO_PEERCRED)",
            "let that unit make its socket by itself, without a .socket unit, or end the connection for the update",
        )


@check
def anonymous_inode(descriptor, around):
    """A descriptor is of a kind that CRIU cannot dump, such as a BPF map or a perf event."""
    del around
    kind, _colon, name = descriptor.target.partition(":")
    if kind == "anon_inode" and name.strip("[]") not in _ANONYMOUS:
        yield descriptor.text, "is of a kind that CRIU cannot dump", "switch that feature off"


@check
def pidfd(descriptor, around):
    """A process has a pidfd open, which CRIU carries from 4.1 on."""
    if descriptor.target == "anon_inode:[pidfd]" and around.criu and numbers(around.criu) < (4, 1):
        yield descriptor.text, f"is a pidfd, which CRIU {around.criu} does not know", "install CRIU 4.1 or later"


@check
def eventfd_semaphore(descriptor, around):
    """An eventfd counts as a semaphore (`EFD_SEMAPHORE`), which CRIU forgets; kernels before 6.5 do not tell."""
    del around
    if descriptor.semaphore:
        yield (
            descriptor.text,
            "counts as a semaphore (EFD_SEMAPHORE), which CRIU would forget: one reader would take what is meant for several",
            "switch off the feature that uses it",
        )


@check
def inotify_once(descriptor, around):
    """An inotify has a watch for one event (`IN_ONESHOT`), which CRIU makes one for all; kernels before 5.19 do not tell."""
    del around
    if descriptor.watches_once:
        yield (
            descriptor.text,
            "watches a file for one event only (IN_ONESHOT), and would tell of all after a restore",
            "switch off the feature that uses it",
        )


@check
def connected_unix_socket(descriptor, around):
    """A unix socket is connected to a process that is not carried, other than the journal, syslog or systemd's notifications."""
    del around
    if descriptor.peer and descriptor.peer != JOURNAL and not descriptor.stateless:
        also = f"add {descriptor.peer_unit} to kup_units, " if descriptor.peer_unit else ""
        yield (
            f"descriptor {descriptor.number} (unix socket {descriptor.inode})",
            f"is connected to {descriptor.peer}",
            f"{also}end that connection for the update (a hook before the checkpoint can do it) or let the unit log to stdout",
        )


@check
def peer_of_another_user(descriptor, around):
    """A unix socket has a peer of another user, which would be root after the restore (`SO_PEERCRED`)."""
    del around
    if descriptor.peer_user:
        yield (
            descriptor.text,
            f"has a peer of user {descriptor.peer_user}, which would be root after the restore (SO_PEERCRED)",
            "end that connection for the update (a hook before the checkpoint can do it)",
        )


@check
def moved_unix_socket(descriptor, around):
    """The file of a unix socket was moved after the socket was bound, to another directory, or its first name is taken now."""
    del around
    if descriptor.moved:
        yield (
            descriptor.text,
            f"is bound as {descriptor.moved}, and its file is in another directory now, or something else has that name, so that nobody "
            "would find it after the restore",
            "let it listen on an abstract socket or on TCP (haproxy: abns@NAME, or 127.0.0.1:PORT), or restart it",
        )


@check
def socket_family(descriptor, around):
    """A socket is of a family that CRIU cannot dump, such as vsock or the kernel's cryptography."""
    del around
    if descriptor.kind and descriptor.kind.family not in _FAMILIES:
        yield (
            descriptor.text,
            f"is of family {descriptor.kind.family}, which CRIU cannot dump",
            "switch off the feature that uses it",
        )


@check
def socket_protocol(descriptor, around):
    """An internet socket is of a protocol that CRIU cannot dump, such as MPTCP (programs in Go since 1.24) or SCTP."""
    del around
    kind = descriptor.kind
    if not kind or kind.family not in (socket.AF_INET, socket.AF_INET6) or kind.kind == socket.SOCK_RAW:
        return
    if kind.kind not in (socket.SOCK_STREAM, socket.SOCK_DGRAM) or kind.protocol not in _PROTOCOLS:
        name, cure = _NAMES.get(kind.protocol, (f"protocol {kind.protocol}", "switch off the feature that uses it"))
        yield descriptor.text, f"is a socket of {name}, which CRIU cannot dump", cure


@check
def protocol_on_tcp(descriptor, around):
    """A connection has a protocol on top of TCP in the kernel, such as TLS: it would come back without."""
    del around
    kind = descriptor.kind
    if kind and kind.on_top:
        name = "TLS" if kind.on_top == "tls" else f"the protocol {kind.on_top}"
        yield (
            descriptor.text,
            f"has {name} in the kernel, which CRIU would leave out",
            "turn kernel TLS off in the application (nginx: ssl_conf_command Options -KTLS)"
            if kind.on_top == "tls"
            else "switch off the feature that uses it",
        )


@check
def signed_tcp(descriptor, around):
    """A socket has keys by which TCP segments are signed (TCP-MD5, as between routers), which CRIU forgets: its peers would not hear it any more."""
    del around
    if descriptor.signed:
        yield (
            descriptor.text,
            "has keys of TCP-MD5, which CRIU forgets",
            "take the unit out of kup_units; its sessions begin anew",
        )


@check
def socket_filter(descriptor, around):
    """A socket has a filter that is an eBPF program: CRIU cannot read it."""
    del around
    if descriptor.kind and descriptor.kind.filtered:
        yield (
            descriptor.text,
            "has an eBPF program as its filter, which CRIU cannot dump",
            "switch off the feature that uses it",
        )


@check
def netlink_groups(descriptor, around):
    """A netlink socket listens to a group above 32, such as those of Wi-Fi: CRIU cannot dump it."""
    del around
    if descriptor.kind and descriptor.kind.group > _GROUPS:
        yield (
            descriptor.text,
            f"listens to netlink group {descriptor.kind.group}, and CRIU can dump groups up to {_GROUPS}",
            "switch off the feature that uses it",
        )


@check
def loopback_peer(descriptor, around):
    """A TCP connection leads to a process of this node that is not carried: its end would wait for ever."""
    del around
    if descriptor.connection:
        to = f"pid {descriptor.holder}" if descriptor.holder else "a process"
        yield (
            f"descriptor {descriptor.number} (connection {descriptor.connection})",
            f"leads to {to} of this node, which is not carried",
            "add the unit of that process to kup_units, or end the connection for the update (a hook before the checkpoint can do it)",
        )


@check
def message_queue(descriptor, around):
    """A process has a POSIX message queue open: it ends with the kernel."""
    if descriptor.device and descriptor.device == around.mqueue:
        yield descriptor.text, "is a POSIX message queue, which CRIU cannot dump", "switch off the feature that uses it"


@check
def unreadable_file(descriptor, around):
    """A process has a file open that cannot be looked at, such as one of a FUSE server that has died."""
    del around
    if descriptor.unreadable:
        yield descriptor.text, f"cannot be looked at ({descriptor.unreadable})", "let the application close it"


@check
def device_descriptor(descriptor, around):
    """A process has a device open that has state of its own."""
    del around
    device = descriptor.target.startswith("/dev/") and not descriptor.target.startswith(("/dev/shm/", "/dev/mqueue/"))
    if device and descriptor.target not in _DEVICES:
        yield descriptor.text, "is a device with state of its own", "stop using the device"


@check
def file_in_memory(descriptor, around):
    """A process has a file open that is in memory, and not below /run, /dev/shm or /tmp."""
    if descriptor.device and around.loses(descriptor.target, descriptor.device):
        yield descriptor.text, IN_MEMORY, NO_SHM


@check
def deleted_file(descriptor, around):
    """A process has a large file open that was deleted: its content would be copied while the application stands."""
    yield from too_large(descriptor.text, descriptor.deleted, around)


@check
def foreign_mount(descriptor, around):
    """A process has a file open on a mount that the unit does not have."""
    del around
    if descriptor.external and descriptor.target != "/dev/null":
        yield descriptor.text, "lies on a mount outside the unit", "only /dev/null can be"


@check
def private_file(descriptor, around):
    """A process has a file open in a file system that only its unit sees and no setting makes again."""
    del around
    if descriptor.private:
        yield (
            descriptor.text,
            "is in a file system that only the unit sees, and the next boot does not have",
            "let it use a file on a disk",
        )


@check
def unseen_file(descriptor, around):
    """A process writes to a file that has another path outside of the unit (`BindPaths=`): nobody could compare it after the boot."""
    del around
    if descriptor.unseen:
        yield (
            descriptor.text,
            "is written to, and has another path outside of the unit, so that older memory on a newer file would not be noticed",
            "let it use a path that is the same outside of the unit",
        )


@check
def closed_to_root(descriptor, around):
    """A process has a file of a server open (NFS with root_squash, SMB) that root may not open: CRIU opens it as root."""
    del around
    if descriptor.closed:
        yield (
            descriptor.text,
            f"cannot be opened by root ({descriptor.closed}), as whom CRIU opens it",
            "let its server allow that (NFS: no_root_squash for this node), or keep the file on a disk of the node",
        )


@check
def file_of_process(descriptor, around):
    """A process has a file of /proc open that tells of a process which is not carried: in the next boot that is none, or another one."""
    del around
    if descriptor.alien:
        yield (
            descriptor.text,
            f"tells of pid {descriptor.alien} of this node, which is not carried",
            "let the application close it, or take the unit out of kup_units",
        )


#: The first that applies to a descriptor tells.
DESCRIPTOR_CHECKS = (
    shared_pipe,
    shared_end,
    made_by_another,
    anonymous_inode,
    pidfd,
    eventfd_semaphore,
    inotify_once,
    connected_unix_socket,
    peer_of_another_user,
    moved_unix_socket,
    socket_family,
    socket_protocol,
    protocol_on_tcp,
    signed_tcp,
    socket_filter,
    netlink_groups,
    loopback_peer,
    unreadable_file,
    message_queue,
    device_descriptor,
    file_in_memory,
    deleted_file,
    foreign_mount,
    private_file,
    unseen_file,
    closed_to_root,
    file_of_process,
)
