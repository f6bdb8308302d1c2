# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Preserved kernels that are entered at once: unpacked beforehand, and compared with check sums of ours (`_image.image`)."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from importlib.util import find_spec

from .._blocker import Blocked
from .._boot import kexec, load_window
from .._errors import KupError
from .._files import read_text, write_file
from .._image import image as kernel_image
from .._system import memory

# Beside vmlinuz in a staged kernel's place.
_IMAGE = "unpacked"
# Bytes that unpacking a kernel takes, and kexec(8) with the result, beside applications that serve.
_ROOM = 384 << 20
# Words of a command line with which a decompressor looks where a kernel may lie: not in what becomes a page of 1 GiB, nor in memory that may
# be taken out (boot/compressed/kaslr.c).
_PLACED = re.compile(r"(^|\s)(hugepagesz=1G|movable_node)(\s|$)")
# EFI's firmware keeps tables below, in memory that looks free.
_EFI, _HIGH = "/sys/firmware/efi", 4 << 30


def packages():
    """Debian packages that `provide` needs and that are not installed."""
    return [] if find_spec("elftools") else ["python3-pyelftools"]


def provide(release, name, make):
    """Have an image of the preserved kernel ``release`` made, unless it is there, and prove that kexec(8) takes it.

    :param name: of its file, beside vmlinuz.
    :param make: function of the path of vmlinuz that makes the image's bytes, and raises `KupError` if it cannot.
    :returns: whether it was written.
    :raises KupError: the kernel is not as expected, or cannot be loaded.
    """
    directory = kexec.place(release)
    path = f"{directory}/{name}"
    source = read_text(f"{directory}/staged", "").splitlines()[0]  # the file that was copied, by `kexec.preserve`
    wanted = f"{source} {kernel_image.code_digest()}"
    if read_text(f"{path}.source") == wanted:
        return False
    kernel_image.write(make(f"{directory}/vmlinuz"), path)
    kexec.load_summed(path, ["--kexec-syscall"])
    kexec.unload()
    write_file(f"{path}.source", wanted + "\n")
    return True


def prepare(release):
    """Unpack the preserved kernel ``release``; returns whether anything was written.

    Where it is not as expected, or this machine could not start it, it is loaded as it is: that takes longer, and is as good. `refusal`
    says why.
    """
    path = f"{kexec.place(release)}/{_IMAGE}"
    try:
        written = provide(release, _IMAGE, _unpacked)
        # For a boot that goes back (files/node/boot/go-back.sh).
        write_file(f"{path}.window", " ".join(_window(path)) + "\n")
    except (KupError, OSError) as error:  # the disk may be full
        for ending in ("", ".sha256", ".source", ".window"):
            _remove(f"{path}{ending}")
        with contextlib.suppress(OSError):
            write_file(f"{path}.refused", f"{error}\n")
        return False
    _remove(f"{path}.refused")
    return written


def refusal(release):
    """Why the preserved kernel ``release`` is loaded as it is: a sentence, or empty."""
    return read_text(f"{kexec.place(release)}/{_IMAGE}.refused", "")


def load(release, more=""):
    """Load the preserved kernel ``release``, unpacked if it can be, with ``more`` words on its command line.

    :raises KupError: kexec(8) refuses it.
    """
    path = f"{kexec.place(release)}/{_IMAGE}"
    kexec.unload()  # first: the loaded kernel takes memory
    if os.path.exists(f"{path}.source"):
        try:
            kexec.load_summed(path, _window(path), more)
        except KupError as error:  # no room in one piece, say
            sys.stderr.write(f"kup: {release} is loaded as the packed file that it is: {error}\n")
        else:
            return
    kexec.load(release, more)


def _window(path):
    """Words for kexec(8): a random place for the image at ``path``."""
    needed, ranges = load_window.size(path, kexec.initrd(os.path.dirname(path))), load_window.ram()
    high = [(max(start, _HIGH), end) for start, end in ranges if end >= max(start, _HIGH) + 2 * needed]
    return load_window.options(load_window.choose(high if high and os.path.exists(_EFI) else ranges, needed))


def _unpacked(path):
    found = _PLACED.search(read_text(f"{os.path.dirname(path)}/cmdline", ""))
    if found:
        raise KupError(
            f"The command line has {found[2]}: only the kernel's own decompressor knows where it may lie then."
        )
    free = memory.available()
    if free < _ROOM:
        raise KupError(f"{free >> 20} MiB of memory are available, expected {_ROOM >> 20} for unpacking a kernel.")
    kernel = kernel_image.unpack(path)
    found = kernel_image.blockers(kernel)
    if found:
        raise Blocked(found)
    return kernel_image.assemble(kernel)


def _remove(path):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
