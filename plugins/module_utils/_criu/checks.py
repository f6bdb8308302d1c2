# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Checks of what CRIU cannot carry: of each process and mapping of a unit (see `seen`)."""

from __future__ import annotations

import os

from .._blocker import check
from .command import LARGEST_DELETED_MIB, numbers
from .connection_lock import AT_ONCE, MOST, OWN

NO_SHM = "configure it to use anonymous shared memory or files on a disk"
# criu/cr-restore.c, validate_sched_parm(): the restore fails with any other.
_POLICIES = (os.SCHED_OTHER, os.SCHED_FIFO, os.SCHED_RR, os.SCHED_BATCH, os.SCHED_IDLE)
IN_MEMORY = "is a file in memory, which ends with the kernel"


def too_large(text, deleted, around):
    """Yield what is wrong with a `seen.Deleted` file, if CRIU would not dump it (criu/files-reg.c: it counts holes before 3.18)."""
    size = deleted.size if around.criu and numbers(around.criu) < (3, 18) else deleted.allocated
    if size > LARGEST_DELETED_MIB << 20:
        yield (
            text,
            f"is a deleted file of {size >> 20} MiB, expected at most {LARGEST_DELETED_MIB} MiB",
            "let the application close it, or restart the unit",
        )


@check
def many_connections(crowd, lock):
    """A unit has hundreds of TCP connections, and CRIU has to lock them by itself: CRIU before 3.19, or a kernel before 5.13."""
    at_once = crowd.connections + min(crowd.descriptors, AT_ONCE)
    if lock == OWN and crowd.connections and at_once > MOST:
        yield (
            f"{crowd.connections} TCP connections",
            f"make CRIU hold {at_once} descriptors at once, expected at most {MOST}, above which it would be aborted in the freeze",
            "install CRIU 3.19 or newer on a kernel from 5.13 on",
        )


@check
def outside_the_tree(process, around):
    """A process is no descendant of the unit's main process: CRIU dumps one tree."""
    pid = process.pid
    while pid in around.parents and pid != around.main_pid:
        pid = around.parents[pid]
    if around.parents and pid != around.main_pid:
        yield (
            "the process",
            f"is no descendant of the main process {around.main_pid}",
            "only one tree of processes per unit can be moved, split the unit",
        )


def _namespace(kind, process, around, setting):
    own = process.namespaces.get(kind)
    if own and own != around.namespaces[kind]:
        yield f"its {kind} namespace", "is not the host's", f"run the unit without {setting}"


@check
def pid_namespace(process, around):
    """A process has a pid namespace of its own."""
    yield from _namespace("pid", process, around, "a pid namespace")


@check
def net_namespace(process, around):
    """A process has a network namespace of its own (`PrivateNetwork=`, `NetworkNamespacePath=`)."""
    yield from _namespace("net", process, around, "PrivateNetwork=/NetworkNamespacePath=")


@check
def user_namespace(process, around):
    """A process has a user namespace of its own (`PrivateUsers=`)."""
    yield from _namespace("user", process, around, "PrivateUsers=")


@check
def mount_namespace(process, around):
    """A process has another mount namespace than its unit's main process."""
    own = process.namespaces.get("mnt")
    if own and own != around.namespaces["mnt"]:
        yield (
            "its mount namespace",
            f"is not that of the main process {around.main_pid}",
            "let the program not make mount namespaces of its own (its sandbox)",
        )


@check
def private_directory(process, around):
    """The working directory of a process is in a file system that only its unit sees and no setting makes again."""
    del around
    if process.directory:
        yield (
            f"its working directory {process.directory}",
            "is in a file system that only the unit sees, and the next boot does not have",
            "let it use a directory on a disk",
        )


@check
def tracer(process, around):
    """A process is traced by a debugger or `strace`: CRIU has to trace it itself."""
    del around
    if process.tracer:
        yield "the process", f"is traced by pid {process.tracer}", "end the debugger or tracer"


@check
def control_group(process, around):
    """A process is in a control group below the unit's own (`Delegate=`)."""
    if process.cgroup and process.cgroup != around.cgroup:
        yield (
            f"its control group {process.cgroup}",
            "is below the unit's own",
            "units that manage control groups themselves (Delegate=) cannot be moved",
        )


@check
def pending_memory(process, around):
    """Memory of a process is still to come (userfaultfd): CRIU would leave it out."""
    del around
    if process.userfaultfd:
        yield "its memory", "is not in place yet (userfaultfd)", "wait until it is in place"


@check
def memory_policy(process, around):
    """A process has a memory policy (`numactl`, `NUMAPolicy=`), on a machine whose memory has several nodes: CRIU forgets it."""
    del around
    if process.memory_policy:
        yield (
            f"its memory policy {process.memory_policy}",
            "would be the usual one after the restore",
            "start it without numactl, NUMAPolicy= or its own setting for NUMA",
        )


@check
def shared_code(process, around):
    """The first executable memory of a process is shared and cannot be written: CRIU would put its own code there (PHP's JIT)."""
    del around
    if process.shared_code:
        yield (
            f"its memory {process.shared_code}",
            "is executable, shared and first in its address space, where CRIU cannot put its own code",
            "switch off what makes it (PHP: opcache.jit_buffer_size=0)",
        )


@check
def page_list(process, around):
    """CRIU before 4.0, or on a kernel before 6.7, would list the pages of a mapping in more memory than the node has (MariaDB)."""
    size = process.longest // 4096 * 8
    if around.page_list_max and size > around.page_list_max:
        yield (
            f"its mapping of {process.longest >> 30} GiB",
            f"makes CRIU {around.criu} ask for {size >> 20} MiB, expected at most the node's {around.page_list_max >> 20} MiB of memory and swap",
            "let it reserve less (MariaDB: innodb_buffer_pool_size_max), or install CRIU 4.0 or newer on a kernel from 6.7 on",
        )


@check
def scheduling_policy(process, around):
    """A thread has a scheduling policy that CRIU cannot set again, such as SCHED_DEADLINE; before 4.0 any with CPUSchedulingResetOnFork=."""
    for policy in sorted(process.policies):
        if policy & ~os.SCHED_RESET_ON_FORK not in _POLICIES:
            yield f"its scheduling policy {policy}", "cannot be set again by CRIU", "let it run with another policy"
        elif policy & os.SCHED_RESET_ON_FORK and around.criu and numbers(around.criu) < (4, 0):
            yield (
                f"its scheduling policy {policy}",
                f"is not inherited by children, which CRIU {around.criu} cannot set again",
                "run it without CPUSchedulingResetOnFork= (SCHED_RESET_ON_FORK), or install CRIU 4.0 or newer",
            )


@check
def foreign_session(session):
    """The main process is in a session that another process leads, or in another process group than that of its session.

    The kernel hangs up a group that is stopped and whose last relative in the session ends: CRIU, which leaves the tree stopped.
    """
    if session.is_led:
        yield (
            "its main process",
            f"is in session {session.number}, whose leader is another process",
            "let systemd start the service, not another program",
        )
    elif session.group != session.number:
        yield (
            "its main process",
            f"is in process group {session.group}, which is not that of its session ({session.number})",
            "let systemd start the service, not another program",
        )


@check
def scope_child(outsider, around):
    """A child of the unit is in a control group of its own (`systemd-run --scope`, sessions): CRIU would dump it as well."""
    if outsider.cgroup and not f"{outsider.cgroup}/".startswith(f"{around.cgroup}/"):
        yield (
            f"process {outsider.text}",
            f"is a child of the unit's process {outsider.parent}, and in control group {outsider.cgroup} instead of {around.cgroup}",
            "end it for the update, or let the unit start it as a service of its own",
        )


#: All of them apply to each process.
PROCESS_CHECKS = (
    outside_the_tree,
    pid_namespace,
    net_namespace,
    user_namespace,
    mount_namespace,
    private_directory,
    tracer,
    control_group,
    pending_memory,
    shared_code,
    memory_policy,
    page_list,
    scheduling_policy,
)


@check
def mapped_file_in_memory(mapping, around):
    """A process maps a file that is in memory, and not below /run, /dev/shm or /tmp."""
    if not mapping.path.endswith(" (deleted)") and around.loses(mapping.path, mapping.device):
        yield f"the mapping of {mapping.path}", IN_MEMORY, NO_SHM


@check
def mapped_deleted_file(mapping, around):
    """A process maps a large file that was deleted: its content would be copied while the application stands."""
    yield from too_large(f"the mapping of {mapping.path}", mapping.deleted, around)


@check
def mapped_device(mapping, around):
    """A process maps memory of a device."""
    del around
    if mapping.path.startswith("/dev/") and not mapping.path.startswith(("/dev/zero", "/dev/shm/")):
        yield f"the mapping of {mapping.path}", "is memory of a device", "stop using the device"


@check
def io_uring(mapping, around):
    """A process uses io_uring, which CRIU does not know."""
    del around
    if mapping.path.startswith("anon_inode:[io_uring"):
        yield "the mapping of an io_uring", "is unknown to CRIU", "turn io_uring off"


@check
def private_mapping(mapping, around):
    """A process maps a file in a file system that only its unit sees and no setting makes again."""
    del around
    if mapping.private:
        yield (
            f"the mapping of {mapping.path}",
            "is in a file system that only the unit sees, and the next boot does not have",
            "let it use a file on a disk",
        )


#: The first that applies to a mapping tells.
MAPPING_CHECKS = (mapped_file_in_memory, mapped_deleted_file, mapped_device, io_uring, private_mapping)
