# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""An unpacked kernel as a file that kexec boots, patched or not.

It is a bzImage again: the distribution's own setup part, and behind it, in place of the decompressor, the code of
files/stub/boot.c, the kernel's relocations, and the kernel itself. So kexec_load and kexec_file_load take it like any other,
and hand over what they always do (EFI, ACPI, memory map). KASLR happens as always at each start, by the image's own code.
"""

from __future__ import annotations

import hashlib
import os
import struct
from dataclasses import dataclass

from .._errors import KupError
from .._files import make_directory, read_text, write_bytes, write_file
from .._run import run
from . import bzimage, checks, kallsyms, patch, stub
from . import vmlinux as vmlinux_elf

_LARGE_PAGE = 2 << 20

# struct parameters of boot.h
_PARAMETERS = 0x280
_MAGIC = b"KUPboot2"
# A stripe of its check sums
_STRIPE = 32
# The code and its stack end here (boot.lds).
_RELOCATIONS = 0x8000

# Never nearer to the start of the kernel's address space (CONFIG_PHYSICAL_START, as the decompressor does it).
_LOWEST = 16 << 20


@dataclass(frozen=True)
class Unpacked:
    """An image that was read."""

    digest: str  # SHA-256 of the file
    image: bzimage.BzImage
    vmlinux: vmlinux_elf.Vmlinux


@dataclass(frozen=True)
class Kernel(Unpacked):
    """An image that was read and can be patched."""

    symbols: kallsyms.Symbols
    place: patch.Place


def unpack(path):
    """Read the bzImage at ``path``.

    :raises KupError: no such file, or anything in it is not as expected.
    """
    content = _content(path)
    image = bzimage.parse(content)
    return Unpacked(hashlib.sha256(content).hexdigest(), image, vmlinux_elf.parse(image.kernel))


def read(path):
    """Read the bzImage at ``path`` and find where it is to be patched.

    :raises KupError: no such file, or anything in it is not as expected.
    """
    found = unpack(path)
    symbols = kallsyms.parse(found.vmlinux.memory, found.vmlinux.base)
    return Kernel(found.digest, found.image, found.vmlinux, symbols, patch.find(found.vmlinux, symbols))


def describe(kernel):
    """Facts about a kernel for a person, as a dict of plain values."""
    image, vmlinux, place = kernel.image, kernel.vmlinux, kernel.place
    return {
        "release": image.release,
        "version": image.version,
        "compression": image.compression,
        "unpacked_bytes": len(image.kernel),
        "memory_bytes": vmlinux.span,
        "symbols": len(kernel.symbols),
        "kallsyms_layout": kernel.symbols.layout,
        "relocations": sum(map(len, vmlinux.relocations)),
        "kaslr_slots": _slots(vmlinux),
        "five_level_paging": image.five_level,
        "call_address": f"{place.call:#x}",
        "room_address": f"{place.room:#x}",
        "room_bytes": place.room_size,
        "code_bytes": len(stub.RESERVE),
        "initialiser": place.initialiser,
    }


def build(kernel):
    """Patch ``kernel`` and return the new image's bytes. The kernel's memory is changed in place: build it once."""
    patch.apply(kernel.vmlinux, kernel.symbols, kernel.place)
    return assemble(kernel)


def assemble(kernel):
    """Return the new image's bytes, of the `Unpacked` ``kernel`` as it is."""
    relocations = b"".join(_words(places) for places in kernel.vmlinux.relocations)
    start = -(-(_RELOCATIONS + len(relocations)) // _LARGE_PAGE) * _LARGE_PAGE
    head = bytearray(start)
    head[: len(stub.BOOT)] = stub.BOOT
    if head[_PARAMETERS : _PARAMETERS + 8] != _MAGIC:
        raise KupError("The boot code has no parameters at its place; install the collection anew.")
    counts = [len(places) for places in kernel.vmlinux.relocations]
    stack = -(-len(stub.BOOT) // _STRIPE) * _STRIPE
    values = (start, kernel.vmlinux.entry, _RELOCATIONS, *counts, _slots(kernel.vmlinux), stack)
    struct.pack_into("<8I", head, _PARAMETERS + 8, *values)
    head[_RELOCATIONS : _RELOCATIONS + len(relocations)] = relocations
    memory = kernel.vmlinux.memory
    padding = bytes(-len(memory) % 16)
    setup = _setup(kernel.image.setup, start + len(memory) + len(padding), start + kernel.vmlinux.span)
    return b"".join((setup, head, memory, padding))


def cached_path(kernel, cache):
    """Path of the patched ``kernel`` in the directory ``cache``; its name depends on the image and on the code."""
    return f"{cache}/{kernel.digest[:32]}-{code_digest()}"


def code_digest():
    """A digest of the code that is put into an image."""
    return hashlib.sha256(stub.BOOT + stub.RESERVE).hexdigest()[:16]


def is_cached(path):
    """Whether the patched image at ``path`` exists and is as it was written, by its digest."""
    return os.path.exists(path) and read_text(f"{path}.sha256") == hashlib.sha256(_content(path)).hexdigest()


def write(content, path):
    """Write an image's bytes to ``path``, with their digest beside it."""
    make_directory(os.path.dirname(path))
    write_bytes(path, content)
    write_file(f"{path}.sha256", hashlib.sha256(content).hexdigest() + "\n")


def blockers(kernel):
    """Why the running kernel of this machine could not start an image of the `Unpacked` ``kernel``: `Blocker`s."""
    processor = read_text("/proc/cpuinfo", "")
    found = checks.five_level_paging(kernel.image.release, kernel.image.five_level, processor)
    # An older systemd does not know the option, and says nothing; kexec(8) is refused then (files/sums).
    found += checks.encrypted_memory(run(["systemd-detect-virt", "--cvm"], check=False).stdout.strip())
    return found + checks.unsigned_image(read_text("/sys/kernel/security/lockdown", ""))


def _content(path):
    try:
        if os.path.getsize(path) > bzimage.LARGEST_IMAGE:
            raise KupError(f"{path} has {os.path.getsize(path)} bytes, expected a kernel image.")
        with open(path, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise KupError(f"{path} cannot be read ({error.strerror}), expected a kernel image.") from error


def _words(places):
    return struct.pack(f"<{len(places)}I", *places)


def _slots(vmlinux):
    """Number of virtual addresses, 2 MiB apart, at which the kernel has room."""
    return (vmlinux_elf.KERNEL_SPACE - _LOWEST - vmlinux.span) // _LARGE_PAGE + 1


def _setup(original, size, memory):
    """The setup part with a header that describes the new protected-mode part: ``size`` bytes that take ``memory`` bytes."""
    setup = bytearray(original)
    flags = bzimage.field(setup, "<H", bzimage.XLOADFLAGS) & ~bzimage.XLF_EFI_HANDOVER
    for kind, offset, value in (
        ("<I", bzimage.SYSSIZE, size // 16),
        ("<H", bzimage.XLOADFLAGS, flags),
        # Nothing is packed, and there is neither an EFI entry nor the decompressor's kernel_info.
        ("<I", bzimage.PAYLOAD_OFFSET, 0),
        ("<I", bzimage.PAYLOAD_LENGTH, 0),
        ("<I", bzimage.HANDOVER_OFFSET, 0),
        ("<I", bzimage.KERNEL_INFO_OFFSET, 0),
        ("<I", bzimage.KERNEL_ALIGNMENT, _LARGE_PAGE),
        ("<I", bzimage.INIT_SIZE, memory),
    ):
        struct.pack_into(kind, setup, offset, value)
    return bytes(setup)
