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
def dynamic_user_directory(view):
    """A unit has `DynamicUser=` with a directory of its own, such as `StateDirectory=`."""
    for path in view.dynamic:
        yield (
            f"the directory {path}",
            "is open to a dynamic user in the unit's own file system view only, which a restored unit has not",
            "give the unit a user of its own (User=) in place of DynamicUser=",
        )


#: The first that applies to a view tells.
VIEW_CHECKS = (mount_namespace_owner, changed_root, foreign_system_files, dynamic_user_directory)
