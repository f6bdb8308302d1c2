# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Page frames that stay where they are while the kernel is replaced (engine ``ppp``).

A patched image of the next kernel reserves them before its first allocation (docs/kernel-image.md). The kernel module
records them in this kernel and binds them to the restored processes in the next one (docs/ppp-module.md).
"""

from __future__ import annotations

import contextlib
import os

from .._blocker import Blocked
from .._boot import kernels, kexec, load_window
from .._errors import KupError
from .._image import image as kernel_image
from .._run import run
from . import direct, kmod, page_daemon

# Beside vmlinuz in a staged kernel's place; files/node/boot/go-back.sh loads it as well.
_IMAGE = "patched"
# What the next kernel's memory management needs before it can use what the old kernel has left; and page tables.
_BESIDE = 16 << 20
# Runs of frames for which the next kernel has room in its list of reserved memory: so many, and one for every two pages.
_RUNS, _PAGES_A_RUN, _PAGE = 50000, 2, 4096
# Where memory for a crash kernel lies, and to what it is aligned.
_LOW, _ALIGNMENT = 4 << 30, 16 << 20


def prepare(release):
    """Patch the preserved kernel ``release`` and provide its module; returns whether anything was written.

    :raises KupError: the kernel is not as expected, or the module cannot be built.
    """
    built = kmod.provide(release, kexec.place(release))
    return direct.provide(release, _IMAGE, _patched) or built


def prove(release, more):
    """Load the patched kernel ``release`` with ``more`` words on its command line, without frames.

    :raises KupError: kexec(8) refuses it.
    """
    kexec.unload()
    kexec.load_summed(f"{kexec.place(release)}/{_IMAGE}", ["--kexec-syscall"], more)


def _patched(path):
    kernel = kernel_image.read(path)
    found = kernel_image.blockers(kernel)
    if found:
        raise Blocked(found)
    return kernel_image.build(kernel)


def load(target, others, resident, more="", piece=0):
    """Begin a table of frames, and load the kernel ``target`` so that it finds the table.

    :param others: releases of further kernels that may be started with the same frames.
    :param resident: bytes of the applications' memory.
    :param more: words for its command line.
    :param piece: bytes of memory that the kernel should find in one piece, below 4 GiB.
    :returns: a text for the shell in the next boot: the place of the table, and the window where kernels may be loaded.
    :raises KupError: the module, the page daemon or kexec(8) refuses.
    """
    drop()  # the table of a switch that was killed
    kmod.load(kexec.place(kernels.running()))
    images = [f"{kexec.place(release)}/{_IMAGE}" for release in {target, *others}]
    runs = _most_runs(resident)
    needed = max(load_window.size(image, kexec.initrd(os.path.dirname(image)), runs) for image in images)
    first, last = load_window.emptiest(load_window.ram(), needed + _BESIDE)
    keep_out = [(first, last), *((start, end - 1) for start, end in load_window.transient())]
    if piece:
        low = [(start, min(end, _LOW)) for start, end in load_window.without(load_window.ram(), (first, last))]
        with contextlib.suppress(KupError):  # no range is so large; the kernel may find one above 4 GiB
            keep_out.append(load_window.emptiest(low, piece + _ALIGNMENT))
    words = [word for start, end in keep_out for word in ("--keep-out", f"{start:x}-{end + 1:x}")]
    table = page_daemon.ask("begin", *words)["table"]
    kexec.unload()  # first: the loaded kernel takes memory
    window = load_window.options((first, last))
    kexec.load_summed(f"{kexec.place(target)}/{_IMAGE}", window, f"{more} kup_ppp.table={table}".strip())
    return f"TABLE='{table}'\nWINDOW='{' '.join(window)}'\n"


def complete(resident):
    """Complete the table of all recorded frames; returns what the module says of it, a dict.

    :param resident: bytes of the applications' memory, as for `load`.
    :raises KupError: the frames are so scattered that the next kernel may not have room for the list of them.
    """
    table = page_daemon.ask("layout")
    if table["runs"] > _most_runs(resident):
        raise KupError(
            f"The {table['frames']} page frames lie in {table['runs']} pieces, of which the next kernel can reserve "
            f"{_most_runs(resident)}; use the engine foam."
        )
    return table


def _most_runs(resident):
    return _RUNS + resident // _PAGE // _PAGES_A_RUN


def drop():
    """Drop the table, complete or not, and unload the kernel that would look for it."""
    if os.path.exists(kmod.DEVICE):
        run([page_daemon.PROGRAM, "drop"], check=False)
        kexec.unload()
        run(["rmmod", kmod.NAME], check=False)  # it stays if it holds frames for another reason
