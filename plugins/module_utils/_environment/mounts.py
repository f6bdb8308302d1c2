# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The file systems that a unit uses, as the node has them mounted: by its open files, mappings, directories, roots and programs.

A restore opens files by their paths, so all of them must be mounted before it. The boot mounts / and /usr before anything else, and
file systems without a disk are made anew; every other one has to wait for its device, and for udev, which finds that.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from .._files import each_line, read_lines, read_text
from .._system import filesystems, mountinfo, private_places

# They come with the kernel, or hold files in memory.
_WITHOUT_DISK = (
    *(
        "bpf",
        "binfmt_misc",
        "cgroup",
        "cgroup2",
        "configfs",
        "debugfs",
        "devpts",
        "devtmpfs",
        "efivarfs",
        "fusectl",
        "hugetlbfs",
    ),
    *(
        "mqueue",
        "nsfs",
        "proc",
        "pstore",
        "ramfs",
        "rpc_pipefs",
        "securityfs",
        "selinuxfs",
        "sysfs",
        "tmpfs",
        "tracefs",
    ),
)
_EARLY = ("/", "/usr")
_CRYPTTAB = "/etc/crypttab"


@dataclass(frozen=True)
class Mount:
    """A file system that has to be mounted: where, its kind and its source.

    ``made``: the next boot mounts it; ``other``: but this instead; ``locked``: name of the encrypted volume that asks for a passphrase.
    """

    place: str
    kind: str
    source: str
    made: bool
    other: str
    locked: str


def of_unit(unit):
    """Each `Mount` that the processes of a `Unit` use, but for those that every boot has before it restores.

    With mounts of its own also those that it sees in another way than the node, such as read-only: what is mounted later would not be
    so. Nobody has to mount these again.
    """
    node = mountinfo.of("/proc/1")
    # Of the main process, because one that has changed its root directory sees the mounts below that only.
    own = mountinfo.of(unit.main.path) if unit.own_mounts else []
    used = _used(unit, own, node) | _of_private_places(unit, node)
    altered = [_judged(row) for row in _altered(own, node) - used]
    judged = [_judged(row) for row in used]
    judged += [mount for mount in altered if mount.made and not mount.other and not mount.locked]
    return sorted(judged, key=lambda mount: mount.place)


def _used(unit, own, node):
    """The node's mounts that the processes use; ``own``: those of the unit."""
    by_number, own_by_number = ({row.number: row for row in rows} for rows in (node, own))
    numbers = {number for process in unit.processes for number in _numbers(process)}
    rows = (by_number.get(number) or _on_node(own_by_number.get(number), node) for number in numbers)
    return {row for row in rows if row and _comes_late(row)}


def _of_private_places(unit, node):
    """The node's mounts that private directories of the unit are in."""
    directories = [place.directory for place in private_places.of(unit) if place.directory]
    found = {max((row for row in node if _is_in(path, row)), key=lambda row: len(row.place)) for path in directories}
    return set(filter(_comes_late, found))


def _is_in(path, row):
    return path.startswith(row.place.rstrip("/") + "/")


def _comes_late(row):
    return row.kind not in _WITHOUT_DISK and row.place not in _EARLY


def _altered(own, node):
    """The node's mounts of disks that a unit has with other options."""
    options = {(row.device, row.root, row.place): _options(row) for row in own}
    late = [row for row in node if row.source.startswith("/dev/") and _comes_late(row)]
    return {row for row in late if options.get((row.device, row.root, row.place), _options(row)) != _options(row)}


def _options(row):
    # systemd has all of them "nosuid" with NoNewPrivileges=, which says the same of the processes.
    return set(row.options.split(",")) - {"nosuid"}


def locked_root():
    """The encrypted volume below / or /usr for which the next boot would ask for a passphrase; empty for none."""
    names = (_locked(row.source) for row in mountinfo.of("/proc/1") if row.place in _EARLY)
    return next(filter(None, names), "")


def _numbers(process):
    """Numbers of the mounts that a process uses."""
    links = [f"{process.path}/{name}" for name in ("cwd", "root", "exe")]
    places = {}
    for line in each_line(f"{process.path}/maps"):
        fields = line.split(maxsplit=5)
        if len(fields) > 5 and fields[4] != "0":
            places.setdefault((fields[3], fields[4]), fields[0])
    links += [f"{process.path}/map_files/{_without_zeros(place)}" for place in places.values()]
    found = {_mount_of_link(link) for link in links}
    for number, target in process.descriptors():
        if target.startswith("/"):  # else a socket, a pipe or the like: there may be thousands
            found.add(_mount_number(f"{process.path}/fdinfo/{number}"))
    return found - {""}


def _without_zeros(place):
    return "-".join(f"{int(end, 16):x}" for end in place.split("-"))


def _mount_of_link(link):
    """The mount that a link of /proc leads to; nothing is opened for reading."""
    try:
        handle = os.open(link, os.O_PATH)
    except OSError:  # it has ended, or has unmapped it
        return ""
    try:
        return _mount_number(f"/proc/self/fdinfo/{handle}")
    finally:
        os.close(handle)


def _mount_number(path):
    match = re.search(r"^mnt_id:\s*(\d+)", read_text(path, ""), re.MULTILINE)
    return match.group(1) if match else ""


def _on_node(row, node):
    """The node's own mount of the file system that a unit with mounts of its own sees as ``row``."""
    if not row:
        return None
    same = [each for each in node if each.device == row.device]
    exact = [each for each in same if (each.root, each.place) == (row.root, row.place)]
    above = [each for each in same if row.root == each.root or row.root.startswith(each.root.rstrip("/") + "/")]
    return next(iter(exact), None) or max(above, key=lambda each: len(each.root), default=None)


def _judged(row):
    return Mount(
        place=row.place,
        kind=row.kind,
        source=row.source,
        made=filesystems.mounted_by_boot(row.place),
        other=_other(row),
        locked=_locked(row.source),
    )


def _other(row):
    """The device that the next boot would mount in this place instead."""
    fragment = filesystems.mount_file(row.place)
    match = re.search(r"^What=(/dev/.*)$", read_text(fragment, "") if fragment else "", re.MULTILINE)
    # A file system of several devices (btrfs) may be named by each of them.
    if not match or not row.source.startswith("/dev/") or row.kind == "btrfs":
        return ""
    return "" if _block_device(match.group(1)) == _block_device(row.source) else match.group(1)


def _locked(source):
    """Name of the encrypted volume, itself or below a logical volume or RAID, for which a boot asks for a passphrase."""
    waiting = [_block_device(source)]
    while waiting:
        path = waiting.pop()
        if read_text(f"{path}/dm/uuid", "").startswith("CRYPT-"):
            name = read_text(f"{path}/dm/name", "")
            if _asks(name):
                return name
        waiting += [f"{path}/slaves/{name}" for name in _entries(f"{path}/slaves")]
    return ""


def _block_device(source):
    """The folder in /sys of a mount's source; empty where that is no device."""
    try:
        device = os.stat(source).st_rdev if source.startswith("/dev/") else 0
    except OSError:
        device = 0
    return f"/sys/dev/block/{os.major(device)}:{os.minor(device)}" if device else ""


def _entries(path):
    try:
        return os.listdir(path)
    except OSError:
        return []


def _asks(name):
    """Whether nothing but a person can open this volume in the next boot, by crypttab(5)."""
    for line in read_lines(_CRYPTTAB):
        fields = line.split("#")[0].split()
        if fields[:1] == [name]:
            key = fields[2] if len(fields) > 2 else "none"
            options = fields[3].split(",") if len(fields) > 3 else []
            sealed = any(option.startswith("tpm2-device=") for option in options) and "tpm2-pin=yes" not in options
            return key in ("none", "-") and not sealed
    return True
