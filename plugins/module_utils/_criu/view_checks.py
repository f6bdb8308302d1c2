# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Checks of what CRIU cannot carry: of a unit's own view of the file system (see `view.View`)."""

from __future__ import annotations

from .._blocker import check


@check
def mount_namespace_owner(view):
    """A unit's mount namespace belongs to a user namespace of its own: nothing of the node may run as root in it."""
    if not view.owned:
        yield (
            "its mount namespace",
            "belongs to another user namespace than the node's first one, and root must not run programs in it",
            "run the unit without PrivateUsers=, and its programs without user namespaces",
        )


@check
def changed_root(view):
    """The main process of a unit with a mount namespace of its own has changed its root directory as well."""
    if view.root != "/":
        yield (
            f"its root directory {view.root}",
            "is not that of its mount namespace",
            "let the program not call chroot(2), or run the unit without mounts of its own",
        )


@check
def foreign_system_files(view):
    """In a unit's own view, files that CRIU reads are not the node's own (`RootDirectory=`, `BindPaths=` in /etc …)."""
    for path in view.foreign:
        yield (
            f"{path} in the unit's own file system view",
            "is not the node's own, and CRIU would read it",
            "run the unit without RootDirectory=, RootImage=, and mounts in that place",
        )


@check
def self_made_mounts(view):
    """A unit has mounts of its own, and no setting that makes them: the next boot could not make them again."""
    if not view.by_systemd:
        yield (
            "its mount namespace",
            "was made by the program itself",
            "let systemd make the mounts (BindPaths=, PrivateTmp= …) in the place of the program",
        )


@check
def image_mounts(view):
    """A unit has mounts of its own from images or of another unit (`RootImage=`, `ExtensionImages=`, `JoinsNamespaceOf=` …)."""
    for setting in view.images:
        yield f"{setting}=", "makes mounts that the early boot cannot make again", f"run the unit without {setting}="


@check
def movable_mount_point(view):
    """Others than root can change where a unit's mount point leads (`BindPaths=` into a directory of the application)."""
    for path in view.movable:
        yield (
            f"the mount point {path}",
            "is in a directory that others than root may write, so a link in its place could have CRIU, as root, read what they like",
            "have BindPaths= mount it in a directory that belongs to root",
        )


@check
def processes_only(view):
    """A unit sees processes only below /proc (`ProcSubset=pid`), where CRIU reads the time since the boot."""
    if not view.uptime:
        yield "its view of /proc", "lacks /proc/uptime, which CRIU reads", "run the unit without ProcSubset=pid"


@check
def sealed_ipc_namespace(view):
    """A unit with an IPC namespace of its own (`PrivateIPC=`) may not write below /proc/sys (`ProtectKernelTunables=`)."""
    if view.sealed:
        yield (
            "its IPC namespace",
            "could not be restored, because /proc/sys is read-only in the unit's own file system view",
            "run the unit without PrivateIPC=, or without ProtectKernelTunables=",
        )


#: The first that applies to a view tells.
VIEW_CHECKS = (
    mount_namespace_owner,
    changed_root,
    foreign_system_files,
    self_made_mounts,
    image_mounts,
    processes_only,
    movable_mount_point,
    sealed_ipc_namespace,
)
