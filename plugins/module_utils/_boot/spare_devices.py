# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Drives and network cards that nobody uses. A kernel that is left shuts all devices down, one after the other, and an NVMe drive of a server
takes seconds (drivers/base/core.c, device_shutdown()). A device whose driver has let go of it is not asked. So the drivers let go of all these at
once while the applications serve; the next kernel finds them as after any boot.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time

from .._files import read_lines, read_text, write_file
from .._paths import RUN
from . import device_users

_PCI = "/sys/bus/pci"
_BLOCK = "/sys/class/block"
_DEV = "/dev"
# The kernel lends drives to other machines by this module, and says nowhere that it has opened them (drivers/nvme/target).
_TARGET = "/sys/module/nvmet"
# Also for files/node/switch/clean-up: those that are let go of, lines ADDRESS DRIVER.
_LIST = RUN + "/spare-devices"

# include/linux/pci_ids.h: class and subclass
_NVME, _ETHERNET = 0x0108, 0x0200
_UP = 0x1  # include/uapi/linux/if.h, IFF_UP
# A drive that several controllers lead to has a path of its own by each, and is used by another name (drivers/nvme/host/multipath.c).
_PATH = re.compile(r"nvme\d+c\d+n\d+")
# Drivers of cards with several ports on one function: one of them may be in a network namespace, where it is not seen from here.
_MANY_PORTS = {"cxgb3", "cxgb4", "mlx4_core"}
_QUIET = 1  # seconds in which nobody reads or writes a drive that nobody uses


class SpareDevices:
    """Those of this node. ``wanted``: whether any is let go of at all."""

    def __init__(self, wanted):
        self._wanted, self._writers = wanted, []

    def let_go(self):
        """Have the drivers begin to let go of what nobody uses now; returns the number of devices."""
        found = find() if self._wanted else []
        if found:
            write_file(_LIST, "".join(f"{address} {driver}\n" for address, driver in found))
            self._writers = _write_all(found, "unbind")
        return len(found)

    def wait(self, patience):
        """Wait until they have, for some seconds at most; returns the addresses of those that have not."""
        return _wait(self._writers, patience)

    def take_back(self, patience):
        """Have the drivers look after them again."""
        found = [tuple(line.split()) for line in read_lines(_LIST) if line]
        # A driver that is still letting go comes first.
        _wait(self._writers, patience)
        _wait(_write_all(found, "bind"), patience)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(_LIST)


def find():
    """List of (PCI address, name of its driver) of drives and network cards that are not in use."""
    if not os.path.isdir(f"{_PCI}/devices"):
        return []
    used, found = device_users.numbers(), {}
    for address in sorted(os.listdir(f"{_PCI}/devices")):
        path = os.path.realpath(f"{_PCI}/devices/{address}")
        driver = os.path.basename(os.path.realpath(f"{path}/driver")) if os.path.islink(f"{path}/driver") else ""
        # One that goes meanwhile, or tells nothing, is left alone.
        with contextlib.suppress(OSError, ValueError):
            if driver and _is_spare(path, driver) and not used.intersection(_numbers(path)):
                found[address, driver] = _counts(path)
    if any(found.values()):
        time.sleep(_QUIET)
    return [
        device for device, counts in found.items() if _counts(os.path.realpath(f"{_PCI}/devices/{device[0]}")) == counts
    ]


def _is_spare(path, driver):
    kind = int(read_text(f"{path}/class", "0"), 16) >> 8
    if kind == _NVME:
        return driver == "nvme" and not os.path.exists(_TARGET) and _drives_are_spare(path)
    return kind == _ETHERNET and driver not in _MANY_PORTS and _cards_are_spare(path)


def _drives(path):
    return [name for name in os.listdir(_BLOCK) if os.path.realpath(f"{_BLOCK}/{name}").startswith(f"{path}/")]


def _counts(path):
    """What the drives of a device have read and written so far, for a comparison."""
    return [read_text(f"{_BLOCK}/{name}/stat", "") for name in sorted(_drives(path))]


def _drives_are_spare(path):
    below = _drives(path)
    disks = [name for name in below if not os.path.exists(f"{_BLOCK}/{name}/partition")]
    return not any(map(_PATH.fullmatch, below)) and all(map(_is_free, disks))


def _is_free(disk):
    """Whether nobody holds the disk or a part of it: no file system, no swap, no other device is made of it."""
    try:
        os.close(os.open(f"{_DEV}/{disk}", os.O_RDONLY | os.O_EXCL | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        return False
    return not os.listdir(f"{_BLOCK}/{disk}/holders")


def _cards_are_spare(path):
    """Whether all interfaces of a card are down and belong to nothing. One that is in a network namespace of its own is not seen, and in use."""
    if read_text(f"{path}/sriov_numvfs", "0") != "0" or os.path.exists(f"{path}/physfn"):
        return False
    interfaces = [
        f"{directory}/{name}"
        for directory, names, _files in os.walk(path)
        if os.path.basename(directory) == "net"
        for name in names
    ]
    return bool(interfaces) and all(map(_is_down, interfaces))


def _is_down(interface):
    flags = int(read_text(f"{interface}/flags", "1"), 16)
    return not flags & _UP and not any(name.startswith("upper_") or name == "master" for name in os.listdir(interface))


def _numbers(path):
    """(major, minor) of all device files that lead to a device."""
    found = set()
    for directory, _directories, files in os.walk(path):
        if "dev" in files:
            major, _colon, minor = read_text(f"{directory}/dev", "").partition(":")
            found.add((int(major), int(minor)))
    return found


def _write_all(devices, verb):
    """Threads that each tell one driver. A driver that hangs must not keep this process from its end."""
    writers = [threading.Thread(target=_write, args=(*device, verb), name=device[0], daemon=True) for device in devices]
    for writer in writers:
        writer.start()
    return writers


def _write(address, driver, verb):
    # It is gone, or somebody else was faster.
    with contextlib.suppress(OSError), open(f"{_PCI}/drivers/{driver}/{verb}", "w", encoding="ascii") as stream:
        stream.write(address)


def _wait(writers, patience):
    end = time.monotonic() + patience
    for writer in writers:
        writer.join(max(0, end - time.monotonic()))
    return [writer.name for writer in writers if writer.is_alive()]
