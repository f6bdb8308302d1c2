# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Checks of an update: the transaction record, the node (`seen.Node`), and each unit's definition."""

from __future__ import annotations

from .._blocker import check
from .._environment.checks import UNFIT
from .._paths import OFF_VAR

#: What the engine writes is estimated; the rest is for what the applications allocate meanwhile.
IMAGES_FACTOR = 1.3
#: Room for two staged kernels, each once more unpacked.
KERNELS_BYTES = 320 << 20

#: Where systemd reads drop-ins before those of a boot plan, and the drop-in of the plan: the last by name counts.
CONTROL = "/etc/systemd/system.control/"
LAST_DROP_IN = "zz-kup-restore.conf"

#: The first kernel that can deny a process memory that is writable and executable (PR_SET_MDWE).
WRITE_EXECUTE_SINCE = (6, 3)

#: Debian releases with which updates have been tried, by VERSION_ID. Testing and unstable have none.
TRIED = ("12", "13", "14", "")

# A pod may have many.
_CONTAINERS_TOLD = 3

# struct sockaddr_un; and what the directory of a unit's last checkpoint is called below kup_images_dir, but for its name.
_SOCKET_PATH = 107
_CHECKPOINT = "/20260101T000000/99-{}/lazy-pages.socket"


@check
def untried_distribution(found):
    """The node is not Debian 12, 13, 14 or testing: nobody has tried an update there (`kup_any_distribution` goes on at your own risk)."""
    if found.id != "debian" or found.version not in TRIED:
        yield (
            f"The distribution {found.name or 'of this node, for which there is no os-release,'}",
            "is one on which nobody has tried an update, expected Debian 12, 13, 14 or testing",
            "set kup_any_distribution to true to go on at your own risk",
        )


@check
def run_at_work(record, left):
    """Another run works on the node; it has a lease, which ends a few minutes after the run."""
    if left > 0:
        yield (
            f"The run {record['OWNER']}",
            f"works on this node (phase {record['PHASE']})",
            f"wait for its end, or {left} s if it is dead",
        )


@check
def unfinished_update(record, target):
    """A run that is dead left an update to another kernel unfinished."""
    if target and record["PHASE"] != "prepared" and record["KERNEL_NEW"] != target:
        yield (
            f"The run {record['OWNER']}",
            f"left an update to {record['KERNEL_NEW']} in phase {record['PHASE']}, expected none or one to {target}",
            "finish it with that target or undo it with 'ansible-playbook kup.fleet.kup_fallback'",
        )


@check
def kernel_unknown(node):
    """`kup_kernel` is neither installed nor in the package lists."""
    if not node.wanted:
        yield (
            f"Kernel {node.selector!r}",
            f"is neither installed (there are: {', '.join(node.installed) or 'none'}) nor in the package lists",
            "correct kup_kernel or refresh the lists",
        )


@check
def lease(seconds, outage):
    """The outage is expected to outlast a lease that the service holds elsewhere (`lease_s` in `kup_units`)."""
    if outage > seconds:
        yield (
            "",
            f"has a lease of {seconds:g} s elsewhere (lease_s), and the outage is expected to be {outage:g} s",
            "hand its lease to another node before (a hook, or kup_drain), and run the update without lease_s, or have the lease last longer",
        )


@check
def write_execute(setting, running, target):
    """A unit may have no memory that is writable and executable (`MemoryDenyWriteExecute=`), which a kernel before 6.3 cannot keep."""
    # systemd uses PR_SET_MDWE where the kernel has it, and nothing else then.
    if setting == "yes" and target < WRITE_EXECUTE_SINCE <= running:
        yield (
            "MemoryDenyWriteExecute=yes",
            "cannot be kept by a kernel before 6.3",
            "choose a newer kernel, or set MemoryDenyWriteExecute=no and restart the unit",
        )


@check
def runtime_mount(node):
    """The node runtime would be on a file system that the next boot mounts too late."""
    # The initramfs, or the kernel, has mounted / and /usr before systemd asks its generators.
    if not node.runtime_early:
        yield (
            node.runtime,
            "is neither on the root file system nor on that of /usr, and the next boot needs it before any other is mounted",
            "put /usr/local there",
        )


@check
def state_mount(node):
    """The transaction record would be on a file system that the next boot mounts too late."""
    if not node.state_early:
        yield (
            node.state,
            "is neither on the root file system nor on that of /usr, and the next boot needs it before any other is mounted",
            f"move it with all that is in it to {OFF_VAR}, and put /usr/local there",
        )


@check
def state_room(node):
    """There is no room for the two kernels that an update stages."""
    if not node.together and not node.probation and node.state_free < KERNELS_BYTES:
        yield (
            node.state,
            f"has {node.state_free >> 20} MiB free, expected at least {KERNELS_BYTES >> 20} MiB for two kernels",
            "make room",
        )


@check
def images_lost(node):
    """`kup_images_dir` is where the next boot would not find it: in memory, on the network, or not mounted."""
    if node.images_lost:
        yield (
            f"The images directory {node.images}",
            f"is {node.images_lost}",
            "set kup_images_dir to a directory on a local disk, or in memory that outlives kexec: memmap=SIZE!START on the "
            "kernel's command line, /dev/pmem0 in /etc/fstab",
        )


@check
def images_room(node):
    """There is no room for the checkpoint images."""
    if not node.images_lost and not node.probation and node.images_free < node.images_needed:
        yield (
            node.images,
            f"has {node.images_free >> 20} MiB free, expected at least {node.images_needed >> 20} MiB (what the engine writes x "
            f"{IMAGES_FACTOR}, and two kernels if they go there too)",
            "make room or set kup_images_dir",
        )


#: All of them apply to a node that needs an update.
NODE_CHECKS = (kernel_unknown, runtime_mount, state_mount, state_room, images_lost, images_room)


@check
def unit_unknown(unit):
    """A unit of `kup_units` does not exist on the node, or is masked."""
    if unit.properties["LoadState"] != "loaded":
        yield "", f"is {unit.properties['LoadState']} on this node, expected one that exists", "correct kup_units"


@check
def unit_alias(unit):
    """A unit of `kup_units` is another name of a unit."""
    if unit.properties["Id"] != unit.name:
        yield (
            "",
            f"is another name of {unit.properties['Id']}, which would be started beside what is restored",
            "write that in kup_units",
        )


@check
def unit_name(unit):
    """A unit has a backslash in its name."""
    if UNFIT.search(unit.name):
        yield "", "has a backslash in its name, which units of the next boot cannot pass on", "give it a plain name"


@check
def unit_inactive(unit):
    """A unit of `kup_units` is not active, or has no main process."""
    if not unit.active:
        yield (
            "",
            f"is {unit.properties['ActiveState']} with main process {unit.main_pid}, expected an active service with a main process",
            "start it or take it out of kup_units",
        )


@check
def container(unit):
    """A unit runs a container (podman, docker, containerd), whose namespaces, mounts and control group only its engine can make again."""
    found = [each.text for each in unit.containers]
    if found:
        more = len(found) - _CONTAINERS_TOLD
        yield (
            ", ".join(found[:_CONTAINERS_TOLD]) + (f" and {more} more" if more > 0 else ""),
            "cannot be carried, because only an engine can make the namespaces, mounts and control groups of containers again, and the early boot "
            "runs none",
            "take the unit out of kup_units, so that it starts anew in the next boot, without what it has in memory (a hook can stop it in order "
            "before), or run the program as a service without a container",
        )


@check
def unit_text(unit):
    """A file of a unit's definition is gone since systemd has read it."""
    for path in unit.missing_files:
        yield (
            f"its file {path}",
            "is not there any more",
            "put it back, or run 'systemctl daemon-reload' and restart the unit",
        )


@check
def dump_refused(sentence):
    """CRIU could not dump the unit when the dump was rehearsed, and the same process still runs with the same CRIU and kernel."""
    if sentence:
        yield (
            "",
            f"cannot be dumped, as the rehearsal has shown: {sentence.rstrip('.')}",
            "change what CRIU names there, restart the unit, or take it out of kup_units",
        )


@check
def drop_in_order(unit):
    """A drop-in in /etc/systemd/system.control sorts behind that of the restore, and would replace its settings."""
    for path in unit.drop_ins:
        folder, _slash, name = path.rpartition("/")
        if folder.startswith(CONTROL) and name > LAST_DROP_IN:
            yield (
                f"its drop-in {path}",
                f"would replace settings of the restore, expected a name that sorts before {LAST_DROP_IN}",
                "rename it, or move it to /etc/systemd/system",
            )


@check
def socket_activated(unit):
    """A socket unit listens for a unit: systemd cannot be given the socket that CRIU restores."""
    for name in unit.listening_for:
        yield (
            "",
            f"is activated by {name}, and systemd and CRIU would both bind its addresses in the next boot",
            f"have the application bind them itself, with 'systemctl disable --now {name}' and a restart",
        )


@check
def descriptor_store(unit):
    """systemd stores file descriptors for a unit (`FileDescriptorStoreMax=`): they end with the kernel."""
    count = unit.properties["NFileDescriptorStore"]
    if count not in ("", "0"):
        yield (
            "",
            f"has stored {count} file descriptors in systemd, which end with the kernel",
            "set FileDescriptorStoreMax=0",
        )


@check
def remote_account(unit):
    """A unit's user or group is not in /etc/passwd or /etc/group, but in a directory (LDAP), which the early boot cannot ask."""
    for name in unit.remote_accounts:
        yield (
            f"its account {name}",
            "is in neither /etc/passwd nor /etc/group, and the directory that has it cannot be asked when the unit is restored",
            "add it there with the same id (getent shows it)",
        )


@check
def late_credential(unit):
    """systemd fetches a credential of a unit (`LoadCredential=`) from where it may not be early in a boot: memory, a service, a TPM."""
    for name, where in unit.late_credentials:
        yield (
            f"its credential {name}",
            f"comes from {where}, and is fetched again when the unit is restored",
            "load it from a file on the disk (systemd-creds encrypt --with-key=host makes one that needs no TPM)",
        )


@check
def watchdog_fixed(unit):
    """A unit's watchdog (`WatchdogSec=`) cannot be extended for the time in which CRIU holds the unit."""
    # systemd takes a new time as a message of the main process.
    if unit.watchdog and unit.properties["NotifyAccess"] == "none":
        yield (
            "",
            f"has a watchdog of {unit.watchdog / 10**6:g} s and NotifyAccess=none, so the watchdog cannot be extended while CRIU holds the unit, and "
            "would end it",
            "set NotifyAccess=main or WatchdogSec=0, and restart the unit",
        )


@check
def file_systems(unit):
    """A unit may not open files of some file systems (`RestrictFileSystems=`): the kernel forgets that, and systemd sets it at a start only."""
    if unit.restricted_file_systems:
        yield (
            "its RestrictFileSystems=",
            "would not be in force after the restore",
            "remove the setting, or take the unit out of kup_units",
        )


#: The first that applies to a unit tells.
UNIT_CHECKS = (
    unit_unknown,
    unit_alias,
    unit_name,
    unit_inactive,
    container,
    unit_text,
    drop_in_order,
    socket_activated,
    descriptor_store,
    remote_account,
    late_credential,
    watchdog_fixed,
    file_systems,
)


@check
def socket_path(images, name):
    """With the page daemon: `kup_images_dir` and the unit's name are too long for the path of a socket."""
    path = images + _CHECKPOINT.format(name)
    if len(path) > _SOCKET_PATH:
        yield (
            f"the page daemon's socket {path}",
            f"would have a path of {len(path)} characters, expected at most {_SOCKET_PATH}",
            "set kup_images_dir to a shorter path, or use the engine criu",
        )
