# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Page frames that stay where they are while the kernel is replaced (engine ``ppp``): what the machine needs for it.

A patched image of the next kernel reserves them before its first allocation (docs/kernel-image.md), the kernel module
records them here and gives them back there (docs/ppp-module.md).
"""

from __future__ import annotations

import contextlib
import os

from . import _kernelimage, _kernels, _kexec, _loadwindow, _module, _paged
from ._errors import KupError
from ._files import read_text, write_file
from ._run import run

# Beside vmlinuz in a staged kernel's place; files/node/restore-failed loads it as well.
_IMAGE = "patched"
# What the next kernel's memory management needs before it can use what the old kernel has left; and page tables.
_BESIDE = 16 << 20
# How many runs of frames the next kernel has room for in its list of reserved memory: so many, and one for every two pages.
_RUNS, _PAGES_A_RUN, _PAGE = 50000, 2, 4096
# Where memory for a crash kernel lies, and to what it is aligned.
_LOW, _ALIGNMENT = 4 << 30, 16 << 20


def stage(release):
    """Patch the staged kernel ``release`` and have its module; returns whether anything was written.

    :raises KupError: the kernel is not as expected, or the module cannot be built.
    """
    directory = _kexec.place(release)
    source = read_text(f"{directory}/staged", "").splitlines()[0]  # the image that was copied, in _kexec.stage
    wanted = f"{source} {_kernelimage.code_digest()}"
    built = _module.stage(release, directory)
    if read_text(f"{directory}/{_IMAGE}.source") == wanted:
        return built
    kernel = _kernelimage.read(f"{directory}/vmlinuz")
    sentence = _kernelimage.obstacle(_kernelimage.describe(kernel))
    if sentence:
        raise KupError(sentence)
    _kernelimage.write(kernel, f"{directory}/{_IMAGE}")
    run(_kexec.load_command(f"{directory}/{_IMAGE}", ["--kexec-syscall"]))  # the proof that it can be loaded
    _kexec.unload()
    write_file(f"{directory}/{_IMAGE}.source", wanted + "\n")
    return True


def load(target, others, resident, more="", piece=0):
    """Begin to keep frames, and load the kernel ``target`` so that it will know them.

    :param others: releases of kernels that may have to be started with the same frames.
    :param resident: bytes of the applications' memory.
    :param more: words for its command line.
    :param piece: bytes of memory that it should find in one piece, below 4 GiB.
    :returns: a text for the shell in the next boot: where they are, and where kernels may be loaded.
    :raises KupError: something refuses.
    """
    drop()  # of a switch that was killed
    _module.load(_kexec.place(_kernels.running()))
    images = [f"{_kexec.place(release)}/{_IMAGE}" for release in {target, *others}]
    runs = _most_runs(resident)
    needed = max(_loadwindow.size(image, _kexec.initrd(os.path.dirname(image)), runs) for image in images)
    first, last = _loadwindow.emptiest(_loadwindow.ram(), needed + _BESIDE)
    keep_out = [(first, last), *((start, end - 1) for start, end in _loadwindow.transient())]
    if piece:
        low = [(start, min(end, _LOW)) for start, end in _loadwindow.without(_loadwindow.ram(), (first, last))]
        with contextlib.suppress(KupError):  # none is so large: it may find one above
            keep_out.append(_loadwindow.emptiest(low, piece + _ALIGNMENT))
    words = [word for start, end in keep_out for word in ("--keep-out", f"{start:x}-{end + 1:x}")]
    table = _paged.ask("begin", *words)["table"]
    _kexec.unload()  # first, for the memory that the staged one takes
    window = _loadwindow.options((first, last))
    run(_kexec.load_command(f"{_kexec.place(target)}/{_IMAGE}", window, f"{more} kup_ppp.table={table}".strip()))
    return f"TABLE='{table}'\nWINDOW='{' '.join(window)}'\n"


def complete(resident):
    """Complete the table of all frames that were kept; returns what the module says of it, a dict.

    :param resident: bytes of the applications' memory, as for `load`.
    :raises KupError: they are so scattered that the next kernel may not find room for the list of them.
    """
    table = _paged.ask("layout")
    if table["runs"] > _most_runs(resident):
        raise KupError(
            f"The {table['frames']} page frames lie in {table['runs']} pieces, of which the next kernel can reserve "
            f"{_most_runs(resident)}; use the engine foam."
        )
    return table


def _most_runs(resident):
    return _RUNS + resident // _PAGE // _PAGES_A_RUN


def drop():
    """Keep nothing any more, wherever that ended; the loaded kernel, which would look for it, goes as well."""
    if os.path.exists(_module.DEVICE):
        run([_paged.PROGRAM, "drop"], check=False)
        _kexec.unload()
        run(["rmmod", _module.NAME], check=False)  # what it holds for other reasons, it keeps
