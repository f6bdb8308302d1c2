# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Checks of what the old boot has around the applications: whether the next one can have it before it restores them."""

from __future__ import annotations

import re

from .._blocker import check

_COMPOSED = ("overlay", "aufs", "autofs")
#: Characters that would be another word, or another path, in a unit file.
UNFIT = re.compile(r"[\s%$\"'\\]")


@check
def run_files_size(count, size, count_max, size_max):
    """A unit has too much in files in memory (/run, /dev/shm, /tmp where it is a tmpfs, private directories): they are copied while it is stopped."""
    if count > count_max or size > size_max:
        yield (
            "its files in memory",
            f"are {count} with {size >> 20} MiB, expected at most {count_max} with {size_max >> 20} MiB",
            "remove what it does not need, or have it keep large files on a disk",
        )


@check
def run_directory(paths):
    """A process uses something in a part of /run that the boot makes anew, such as /run/systemd."""
    for path in paths:
        yield f"its {path}", "is in a part of /run that the next boot makes anew", "have it use a directory of its own"


@check
def packet_filter(lost, said):
    """The node's packet filter cannot be recorded, or not be loaded before the interfaces come up."""
    for each in lost:
        yield (
            "The node's packet filter",
            f"has {each}, which cannot be put in force early in the next boot",
            "install the tool that has loaded it, or write the rules for nft",
        )
    if said:
        yield (
            "The node's packet filter",
            f"cannot be loaded before there are interfaces: {said}",
            "write it without devices: rules by iifname and oifname, no chains of the family netdev, no flowtables",
        )


@check
def root_locked(volume):
    """The root file system, or /usr, is encrypted, and the next boot would ask for a passphrase."""
    if volume:
        yield (
            f"The root file system's encrypted volume {volume}",
            "would ask for its passphrase in the next boot",
            "have the boot open it by itself (a key file, or tpm2-device= in /etc/crypttab)",
        )


@check
def mount_kind(mount):
    """A process uses a file system that a boot cannot mount without more: an overlay, FUSE or an automount point."""
    if mount.kind in _COMPOSED or mount.kind.startswith("fuse"):
        yield _about(
            mount, f"is of the kind {mount.kind}, which is not carried over", "keep its files on another file system"
        )


@check
def mount_by_hand(mount):
    """A process uses a file system that the next boot would not mount."""
    if not mount.made:
        yield _about(
            mount,
            "would be missing in the next boot: no line of /etc/fstab and no unit mounts it",
            "write one, and run 'systemctl daemon-reload'",
        )


@check
def mount_other(mount):
    """A process uses a file system in whose place the next boot would mount another one."""
    if mount.other:
        yield _about(
            mount, f"would be another one in the next boot: /etc/fstab or a unit names {mount.other}", "correct it"
        )


@check
def mount_locked(mount):
    """A process uses an encrypted file system for which the next boot would ask for a passphrase."""
    if mount.locked:
        yield _about(
            mount,
            f"is on the encrypted volume {mount.locked}, which would ask for its passphrase in the next boot",
            "have the boot open it by itself (a key file, or tpm2-device= in /etc/crypttab)",
        )


@check
def mount_name(mount):
    """A process uses a file system whose place has blanks, quotes, backslashes, % or $ in its name."""
    if UNFIT.search(mount.place):
        yield _about(
            mount, "has a name that units of the next boot cannot pass on", "mount it in a place with a plain name"
        )


def _about(mount, why, cure):
    return f"the file system {mount.place} ({mount.source})", why, cure


#: The first that applies to a mount tells.
MOUNT_CHECKS = (mount_kind, mount_by_hand, mount_other, mount_locked, mount_name)


@check
def security_label(label):
    """A process has a label of SELinux or Smack, which CRIU as it is packaged does not give back."""
    if not label.apparmor:
        yield (
            f"the security label {label.text}",
            "is not given back by CRIU",
            "boot the node without SELinux or Smack, or take the unit out of kup_units",
        )


@check
def security_profile(label):
    """A process is confined by an AppArmor profile that CRIU does not give back, or that the kernel does not hand out."""
    name = label.profile
    if ":" in name or "//&" in name or " " in name:
        yield (
            f"the AppArmor profile {name}",
            "is in a namespace, or is several, or has a blank in its name",
            "use a plain profile",
        )
    elif not label.loaded:
        yield (
            f"the AppArmor profile {name}",
            "cannot be read from the kernel, so that the next boot would not have it before the restore",
            "boot a kernel with CONFIG_SECURITY_APPARMOR_EXPORT_BINARY, and without apparmor.export_binary=0",
        )


#: The first that applies to a label tells.
LABEL_CHECKS = (security_label, security_profile)
