"""Checks of what CRIU cannot carry: kernels, processes, mappings, descriptors."""

import dataclasses
import socket

import pytest
from checkcases import Case, case_tests

from ansible_collections.kup.fleet.plugins.module_utils._blocker import first_of
from ansible_collections.kup.fleet.plugins.module_utils._criu import (
    checks,
    connection_lock,
    descriptor_checks,
    ipc_checks,
    kernel_checks,
    seen,
    segments,
    view,
    view_checks,
)
from ansible_collections.kup.fleet.plugins.module_utils._criu.sessions import Session
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import descriptors

HOST = {kind: f"{kind}:[1]" for kind in ("pid", "net", "user", "mnt")}
UNIT = "/system.slice/a.service"
AROUND = seen.Around(
    7, UNIT, {7: 1, 8: 7, 9: 8}, HOST, frozenset({"00:1c", "00:1d"}), "00:13", frozenset({"00:1d"}), "4.2.1"
)
PROCESS = seen.Process(9, HOST, "", UNIT, False)


def process(**fields):
    return dataclasses.replace(PROCESS, **fields), AROUND


def listed(longest, most):
    around = dataclasses.replace(AROUND, criu="3.17.1", page_list_max=most)
    return dataclasses.replace(PROCESS, longest=longest), around


def mapping(path, device="fe:01"):
    return seen.Mapping(path, device), AROUND


def seen_mapping(**fields):
    return seen.Mapping("/opt/x", "fe:01", **fields), AROUND


def older(subject, criu):
    """The subject of a check, on a node with this CRIU."""
    return subject[0], dataclasses.replace(AROUND, criu=criu)


def own_view(**fields):
    return (view.View(**{"owned": True, "root": "/", **fields}),)


def descriptor(target, **fields):
    return seen.Descriptor(5, target, **fields), AROUND


def in_kind(*fields):
    return descriptor("socket:[9]", kind=descriptors.Kind(*fields))


PIDFD = descriptor("anon_inode:[pidfd]")
LARGE, HOLES = seen.Deleted(65 << 20, 65 << 20), seen.Deleted(100 << 20, 64 << 20)


def no_queues(target):
    """An open socket or the like, on a node without /dev/mqueue."""
    return seen.Descriptor(5, target), dataclasses.replace(AROUND, mqueue="")


def outsider(cgroup):
    return seen.Outsider("sleep[44]", 9, cgroup), AROUND


def segment(**fields):
    return (segments.Segment(3, "db[9]", **fields),)


def tree(parents):
    return PROCESS, dataclasses.replace(AROUND, parents=parents)


def in_namespace(kind, **fields):
    return process(namespaces={**HOST, kind: f"{kind}:[2]"}, **fields)


CASES = [
    ("criu-kernel", Case(("3.17.1", "6.13"), ("3.17.1", "6.12.9+bpo-cloud-amd64"), "CRIU 3.17.1", "install CRIU 3.18")),
    ("criu-kernel", Case(("4.1.1", "7.2.12-amd64"), ("4.1.1", "6.12.117"), "CRIU 4.1.1", "kernel 7.2.12-amd64")),
    ("criu-kernel", Case(("4.1.1", "6.16.3"), ("4.1.1", "6.15.9"), "CRIU 4.1.1", "install CRIU 4.2 or later")),
    ("criu-processor", Case(("3.18", {"amx_tile"}), ("3.19", {"amx_tile"}), "CRIU 3.18", "AMX")),
    (
        "criu-processor",
        Case(("3.17.1", {"fpu", "amx_tile"}), ("3.17.1", {"fpu", "avx512f"}), "CRIU 3.17.1", "install CRIU 3.19"),
    ),
    ("criu-check", Case(("no userns",), ("",), "'criu check'", "no userns")),
    ("outside-the-tree", Case(tree({7: 1, 9: 1}), tree({7: 1, 8: 7, 9: 8}), "the process", "main process 7")),
    # A parent between the two that is not the unit's any more; and nothing is said where parents are not known.
    ("outside-the-tree", Case(tree({7: 1, 9: 8}), tree({}), "the process", "split the unit")),
    ("pid-namespace", Case(in_namespace("pid"), in_namespace("net"), "its pid namespace")),
    ("net-namespace", Case(in_namespace("net"), in_namespace("user"), "its net namespace", "PrivateNetwork=")),
    ("user-namespace", Case(in_namespace("user"), in_namespace("pid"), "its user namespace", "PrivateUsers=")),
    ("mount-namespace", Case(in_namespace("mnt"), in_namespace("pid"), "its mount namespace", "main process 7")),
    (
        "private-directory",
        Case(process(directory="/tmp/x"), process(), "its working directory /tmp/x", "only the unit sees"),
    ),
    # Unreadable: the process has ended.
    ("pid-namespace", Case(in_namespace("pid"), process(namespaces=dict.fromkeys(HOST, "")), "its pid namespace")),
    ("tracer", Case(process(tracer="12"), process(), "the process", "is traced by pid 12")),
    ("foreign-session", Case((Session(6, 6, True),), (Session(6, 6, False),), "its main process", "whose leader")),
    ("foreign-session", Case((Session(6, 5, False),), (Session(6, 6, False),), "its main process", "group 5")),
    ("control-group", Case(process(cgroup=f"{UNIT}/x"), process(), f"its control group {UNIT}/x", "Delegate=")),
    ("control-group", Case(process(cgroup=f"{UNIT}/x"), process(cgroup=""), f"its control group {UNIT}/x")),
    ("pending-memory", Case(process(userfaultfd=True), process(), "its memory", "userfaultfd")),
    (
        "shared-code",
        Case(
            process(shared_code="/dev/zero (deleted)"), process(), "its memory /dev/zero (deleted)", "jit_buffer_size=0"
        ),
    ),
    (
        "page-list",
        Case(
            listed(8 << 40, 8 << 30),
            listed(4 << 40, 8 << 30),
            "its mapping of 8192 GiB",
            "makes CRIU 3.17.1 ask for 16384 MiB, expected at most the node's 8192 MiB",
        ),
    ),
    ("page-list", Case(listed(8 << 40, 8 << 30), listed(8 << 40, 0), "its mapping of 8192 GiB")),
    (
        "scheduling-policy",
        Case(process(policies={0, 6}), process(policies={0, 1, 2, 3, 5, 0x40000000}), "its scheduling policy 6"),
    ),
    (
        "scheduling-policy",
        Case(
            older(process(policies={0x40000002}), "3.17.1"),
            older(process(policies={0x40000002}), "4.0"),
            "its scheduling policy 1073741826",
            "CPUSchedulingResetOnFork=",
        ),
    ),
    ("memory-policy", Case(process(memory_policy="bind:1"), process(), "its memory policy bind:1", "numactl")),
    ("mapped-file-in-memory", Case(mapping("/run/x", "00:1c"), mapping("/run/x", "fe:01"), "the mapping of /run/x")),
    (
        "mapped-file-in-memory",
        Case(mapping("/run/udev/x", "00:1d"), mapping("/run/x/y", "00:1d"), "the mapping of /run/udev/x"),
    ),
    (
        "mapped-file-in-memory",
        Case(mapping("/run/x", "00:1c"), mapping("/run/x (deleted)", "00:1c"), "the mapping of /run/x"),
    ),
    ("mapped-device", Case(mapping("/dev/fb0"), mapping("/dev/zero"), "the mapping of /dev/fb0")),
    ("mapped-device", Case(mapping("/dev/fb0"), mapping("/dev/shm/x"), "the mapping of /dev/fb0")),
    ("io-uring", Case(mapping("anon_inode:[io_uring]"), mapping("[heap]"), "the mapping of an io_uring")),
    (
        "private-mapping",
        Case(seen_mapping(private=True), seen_mapping(private=False), "the mapping of /opt/x", "only the unit sees"),
    ),
    ("mount-namespace-owner", Case(own_view(owned=False), own_view(), "its mount namespace", "another user namespace")),
    ("changed-root", Case(own_view(root="/srv"), own_view(), "its root directory /srv", "chroot(2)")),
    (
        "foreign-system-files",
        Case(own_view(foreign=("/etc",)), own_view(), "/etc in the unit's own file system view", "RootDirectory="),
    ),
    ("self-made-mounts", Case(own_view(by_systemd=False), own_view(), "its mount namespace", "by the program itself")),
    (
        "movable-mount-point",
        Case(own_view(movable=("/home/a/x",)), own_view(), "the mount point /home/a/x", "belongs to root"),
    ),
    ("image-mounts", Case(own_view(images=("RootImage",)), own_view(), "RootImage=", "without RootImage=")),
    ("processes-only", Case(own_view(uptime=False), own_view(), "its view of /proc", "ProcSubset=pid")),
    ("sealed-ipc-namespace", Case(own_view(sealed=True), own_view(), "its IPC namespace", "PrivateIPC=")),
    (
        "shared-pipe",
        Case(descriptor("pipe:[3]", holder=44), descriptor("pipe:[3]"), "descriptor 5 (pipe:[3])", "pid 44"),
    ),
    (
        "shared-end",
        Case(
            descriptor("socket:[9]", holder=44),
            descriptor("pipe:[3]", holder=44),
            "descriptor 5 (socket:[9])",
            "with pid 44",
        ),
    ),
    (
        "shared-end",
        Case(
            descriptor("socket:[9]", holder=44),
            descriptor("socket:[9]", connection="::1:5 to ::1:6", holder=44),
            "descriptor 5 (socket:[9])",
        ),
    ),
    (
        "shared-pipe",
        Case(descriptor("pipe:[3]", holder=44), descriptor("socket:[9]", holder=44), "descriptor 5 (pipe:[3])"),
    ),
    (
        "made-by-another",
        Case(
            descriptor("socket:[9]", maker=1),
            descriptor("socket:[9]"),
            "descriptor 5 (socket:[9])",
            "made by pid 1, which",
        ),
    ),
    (
        "connected-unix-socket",
        Case(
            descriptor("socket:[9]", inode=9, peer="/run/a", peer_unit="a.service"),
            descriptor("socket:[9]", inode=9, peer="/run/systemd/journal/stdout"),
            "descriptor 5 (unix socket 9)",
            "is connected to /run/a; add a.service to kup_units, end that",
        ),
    ),
    (
        "anonymous-inode",
        Case(descriptor("anon_inode:bpf-map"), descriptor("anon_inode:[eventfd]"), "descriptor 5 (anon_inode:bpf-map)"),
    ),
    (
        "connected-unix-socket",
        Case(
            descriptor("socket:[9]", inode=9, peer="/run/dbus/system_bus_socket"),
            descriptor("socket:[9]", inode=9, peer="/run/systemd/journal/stdout"),
            "descriptor 5 (unix socket 9)",
            "is connected to /run/dbus/system_bus_socket",
        ),
    ),
    (
        "socket-family",
        Case(
            in_kind(socket.AF_VSOCK, 1, 0),
            in_kind(socket.AF_NETLINK, 3, 0),
            "descriptor 5 (socket:[9])",
            f"is of family {int(socket.AF_VSOCK)}",
        ),
    ),
    # AF_UNSPEC is a family, too.
    ("socket-family", Case(in_kind(0, 1, 0), descriptor("socket:[9]"), "descriptor 5 (socket:[9])")),
    (
        "socket-protocol",
        Case(
            in_kind(2, 1, 262),
            in_kind(2, 1, 6),
            "descriptor 5 (socket:[9])",
            "MPTCP, which CRIU cannot dump; turn MPTCP off",
        ),
    ),
    ("socket-protocol", Case(in_kind(10, 5, 132), in_kind(10, 2, 17), "descriptor 5 (socket:[9])", "a socket of SCTP")),
    ("socket-protocol", Case(in_kind(2, 1, 99), in_kind(2, 3, 99), "descriptor 5 (socket:[9])", "of protocol 99")),
    ("socket-protocol", Case(in_kind(2, 6, 33), in_kind(1, 5, 0), "descriptor 5 (socket:[9])", "a socket of DCCP")),
    (
        "protocol-on-tcp",
        Case(in_kind(2, 1, 6, "tls"), in_kind(2, 1, 6), "descriptor 5 (socket:[9])", "has TLS in the kernel"),
    ),
    (
        "protocol-on-tcp",
        Case(
            in_kind(2, 1, 6, "smc"), descriptor("/x"), "descriptor 5 (socket:[9])", "has the protocol smc in the kernel"
        ),
    ),
    (
        "socket-filter",
        Case(in_kind(2, 2, 17, "", True), in_kind(2, 2, 17), "descriptor 5 (socket:[9])", "an eBPF program"),
    ),
    (
        "netlink-groups",
        Case(
            in_kind(16, 3, 16, "", False, 33),
            in_kind(16, 3, 16, "", False, 32),
            "descriptor 5 (socket:[9])",
            "group 33",
        ),
    ),
    (
        "loopback-peer",
        Case(
            descriptor("socket:[9]", connection="127.0.0.1:5 to 127.0.0.1:6", holder=44),
            descriptor("socket:[9]", kind=descriptors.Kind(2, 1, 6)),
            "descriptor 5 (connection 127.0.0.1:5 to 127.0.0.1:6)",
            "leads to pid 44 of this node",
        ),
    ),
    (
        "loopback-peer",
        Case(
            descriptor("socket:[9]", connection="::1:5 to ::1:6"),
            descriptor("pipe:[9]", holder=44),
            "descriptor 5 (connection ::1:5 to ::1:6)",
            "leads to a process of this node",
        ),
    ),
    (
        "shared-pipe",
        Case(
            descriptor("pipe:[3]", holder=44),
            descriptor("socket:[9]", connection="::1:5 to ::1:6", holder=44),
            "descriptor 5 (pipe:[3])",
        ),
    ),
    ("message-queue", Case(descriptor("/q", device="00:13"), descriptor("/q", device="fe:01"), "descriptor 5 (/q)")),
    ("message-queue", Case(descriptor("/q", device="00:13"), no_queues("/q"), "descriptor 5 (/q)")),
    (
        "unreadable-file",
        Case(
            descriptor("/mnt/x", unreadable="not connected"),
            descriptor("/x"),
            "descriptor 5 (/mnt/x)",
            "(not connected)",
        ),
    ),
    (
        "scope-child",
        Case(
            outsider("/system.slice/run.scope"),
            outsider(UNIT),
            "process sleep[44]",
            f"process 9, and in control group /system.slice/run.scope instead of {UNIT}",
        ),
    ),
    # Nobody has waited for it yet; and one that is gone.
    ("scope-child", Case(outsider(f"{UNIT}-x"), outsider(f"{UNIT}/x"), "process sleep[44]")),
    ("scope-child", Case(outsider("/"), outsider(""), "process sleep[44]")),
    ("sysv-semaphores", Case((3, 77), (3, 0), "the System V semaphores 3", "SEM_UNDO")),
    (
        "sysv-size",
        Case(("its queues", (1 << 20) + 1, 1 << 20), ("its queues", 1 << 20, 1 << 20), "its queues", "ipcrm"),
    ),
    *(
        (
            "sysv-memory",
            Case(segment(**{field: value}), segment(), "the System V shared memory segment 3 of process db[9]", *says),
        )
        for field, value, *says in (
            ("whole", False, "in part"),
            ("executable", True, "executable"),
            ("huge", True, "huge pages"),
            ("foreign", True, "namespace"),
            ("holder", "other[7]", "other[7]"),
            ("sealed", True, "ProtectKernelTunables="),
            ("creator", (33, 0), "another user"),
            ("twin", "/memfd:x (deleted)", "memfd:x"),
        )
    ),
    (
        "peer-of-another-user",
        Case(
            descriptor("socket:[7]", peer_user=65534),
            descriptor("socket:[7]"),
            "descriptor 5 (socket:[7])",
            "has a peer of user 65534, which would be root",
        ),
    ),
    (
        "moved-unix-socket",
        Case(
            descriptor("socket:[7]", moved="/run/app/admin.5.tmp"),
            descriptor("socket:[7]"),
            "descriptor 5 (socket:[7])",
            "is bound as /run/app/admin.5.tmp, and its file is in another directory now",
        ),
    ),
    ("device-descriptor", Case(descriptor("/dev/fuse"), descriptor("/dev/urandom"), "descriptor 5 (/dev/fuse)")),
    ("device-descriptor", Case(descriptor("/dev/fuse"), descriptor("/dev/shm/x"), "descriptor 5 (/dev/fuse)")),
    (
        "file-in-memory",
        Case(descriptor("/run/x", device="00:1c"), descriptor("/run/x", device=""), "descriptor 5 (/run/x)"),
    ),
    (
        "file-in-memory",
        Case(
            descriptor("/run/utmp", device="00:1d"),
            descriptor("/dev/shm/x", device="00:1d"),
            "descriptor 5 (/run/utmp)",
        ),
    ),
    (
        "foreign-mount",
        Case(
            descriptor("/srv/x", external="file[1a:2]"),
            descriptor("/dev/null", external="file[1a:2]"),
            "descriptor 5 (/srv/x)",
        ),
    ),
    (
        "pidfd",
        Case(older(PIDFD, "4.0"), older(PIDFD, "4.1"), "descriptor 5 (anon_inode:[pidfd])", "CRIU 4.0 does not know"),
    ),
    (
        "eventfd-semaphore",
        Case(
            descriptor("anon_inode:[eventfd]", semaphore=True),
            descriptor("anon_inode:[eventfd]"),
            "descriptor 5 (anon_inode:[eventfd])",
            "counts as a semaphore",
        ),
    ),
    (
        "inotify-once",
        Case(
            descriptor("anon_inode:inotify", watches_once=True),
            descriptor("anon_inode:inotify"),
            "descriptor 5 (anon_inode:inotify)",
            "for one event only",
        ),
    ),
    # Without CRIU nothing is known yet.
    ("pidfd", Case(older(PIDFD, "3.17.1"), older(PIDFD, ""), "descriptor 5 (anon_inode:[pidfd])", "install CRIU 4.1")),
    (
        "deleted-file",
        Case(
            descriptor("/x (deleted)", deleted=LARGE),
            descriptor("/x (deleted)", deleted=HOLES),
            "descriptor 5 (/x (deleted))",
            "is a deleted file of 65 MiB, expected at most 64 MiB",
        ),
    ),
    (
        "mapped-deleted-file",
        Case(
            older(seen_mapping(deleted=HOLES), "3.17.1"),
            older(seen_mapping(deleted=HOLES), "3.18"),
            "the mapping of /opt/x",
            "is a deleted file of 100 MiB",
        ),
    ),
    (
        "unseen-file",
        Case(descriptor("/data/x", unseen=True), descriptor("/data/x"), "descriptor 5 (/data/x)", "the same outside"),
    ),
    (
        "signed-tcp",
        Case(
            descriptor("socket:[7]", signed=True),
            descriptor("socket:[7]"),
            "descriptor 5 (socket:[7])",
            "has keys of TCP-MD5",
        ),
    ),
    (
        "file-of-process",
        Case(
            descriptor("/proc/812/stat", alien=812),
            descriptor("/proc/812/stat"),
            "descriptor 5 (/proc/812/stat)",
            "tells of pid 812 of this node, which is not carried",
        ),
    ),
    (
        "closed-to-root",
        Case(
            descriptor("/srv/x", closed="Permission denied"),
            descriptor("/srv/x"),
            "descriptor 5 (/srv/x)",
            "cannot be opened by root (Permission denied), as whom CRIU opens it",
        ),
    ),
    (
        "many-connections",
        Case(
            (seen.Crowd(500, 800), connection_lock.OWN),
            (seen.Crowd(60000, 3100), connection_lock.NONE),
            "500 TCP connections",
            "1256 descriptors",
        ),
    ),
    (
        "private-file",
        Case(descriptor("/tmp/x", private=True), descriptor("/tmp/x"), "descriptor 5 (/tmp/x)", "only the unit sees"),
    ),
]
test_every_check_has_a_case, test_a_blocker_is_found, test_no_blocker_is_found = case_tests(
    "_criu.kernel_checks",
    "_criu.checks",
    "_criu.ipc_checks",
    "_criu.descriptor_checks",
    "_criu.view_checks",
    cases=CASES,
)


def test_what_is_no_version_is_refused():
    with pytest.raises(KupError, match="is no version"):
        kernel_checks.criu_kernel("4", "7.2")


def test_each_check_of_a_unit_is_applied():
    applied = checks.PROCESS_CHECKS + checks.MAPPING_CHECKS + descriptor_checks.DESCRIPTOR_CHECKS
    applied += (*view_checks.VIEW_CHECKS, checks.scope_child, checks.foreign_session, checks.many_connections)
    applied += (ipc_checks.sysv_memory, ipc_checks.sysv_semaphores, ipc_checks.sysv_size)
    assert {each.code for each in applied} == {code for code, _case in CASES} - {
        "criu-kernel",
        "criu-processor",
        "criu-check",
    }


@pytest.mark.parametrize(
    ("found", "code"),
    [
        # A device of a private /dev lies on a mount of its own, or is another file.
        (descriptor("/dev/fuse", external="file[1:2]"), "device-descriptor"),
        (descriptor("/dev/fuse", private=True), "device-descriptor"),
        (descriptor("/run/x", device="00:1c", private=True), "file-in-memory"),
    ],
)
def test_a_descriptor_has_one_reason(found, code):
    assert [blocker.code for blocker in first_of(descriptor_checks.DESCRIPTOR_CHECKS, *found)] == [code]


FIRST = "55d0a0000000-55d0a4000000 r-xs 00000000 00:01 1027  /dev/zero (deleted)"
PROGRAM = "55d0a5000000-55d0a5100000 r-xp 00000000 fe:01 77  /usr/sbin/php-fpm8.4"


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (
            ["55d09f000000-55d0a0000000 rw-s 00000000 00:01 1026  /dev/zero (deleted)", FIRST, PROGRAM],
            "/dev/zero (deleted)",
        ),
        ([PROGRAM, FIRST], ""),
        ([FIRST.replace("r-xs", "rwxs"), PROGRAM], ""),
        (["1000-2000 r-xs 00000000 00:01 0"], "at 1000-2000"),
        ([], ""),
    ],
)
def test_code_that_criu_cannot_write_to(rows, found):
    assert seen._shared_code(rows) == found


def test_the_longest_private_mapping():
    rows = [
        "1000-9000 rw-s 00000000 00:01 0",
        "1000-4000 rw-p 00000000 00:00 0",
        "5000-6000 ---p 00000000 fe:01 7  /a b",
        "",
    ]
    assert seen._longest(rows) == 0x3000
    assert seen._longest([]) == 0


@pytest.mark.parametrize(
    ("criu", "kernel", "lists"),
    [
        ("3.17.1", "6.12.9-amd64", True),
        ("4.1.1", "6.1.0-56-amd64", True),
        ("4.1.1", "6.12.9-amd64", False),
        ("", "6.1.0", False),
    ],
)
def test_who_makes_a_list_of_pages(criu, kernel, lists):
    assert (seen._page_list_max(criu, kernel) > 0) == lists
