# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The unpacked kernel: an ELF file with its relocations behind it, laid out as it lies in memory."""

from __future__ import annotations

import array
import struct
import sys
from dataclasses import dataclass

from ._errors import KupError

# __START_KERNEL_map, and KERNEL_IMAGE_SIZE of every kernel that can be relocated.
KERNEL_MAP = 0xFFFFFFFF80000000
KERNEL_SPACE = 1 << 30

_PT_LOAD = 1
_EM_X86_64 = 62
_SHT_NOBITS = 8


@dataclass(frozen=True)
class Vmlinux:
    """One kernel.

    :ivar base: virtual address at which it is linked, that of the memory's first byte.
    :ivar entry: offset of its first instruction in the memory.
    :ivar memory: its content (a bytearray) up to the last byte that the file has.
    :ivar span: bytes of memory that it takes, from `base`.
    :ivar btf: its type information; empty where it has none.
    :ivar relocations: offsets in the memory of what moves with the kernel, three arrays: 64-bit words, 32-bit words, and
        32-bit words from which the distance is subtracted (kernels before 6.15 only).
    """

    base: int
    entry: int
    memory: bytearray
    span: int
    btf: bytes
    relocations: tuple


def parse(kernel):
    """Lay out ``kernel`` (bytes: vmlinux and its relocations).

    :raises KupError: not an x86-64 executable in one piece of memory, or its relocations are not as expected.
    """
    if kernel[:6] != b"\x7fELF\x02\x01" or len(kernel) < 64:
        raise KupError("The payload is not a 64-bit ELF file, expected a vmlinux.")
    kind, machine, _version, entry, ph_at, sh_at, _flags, _size, ph_size, ph_count, sh_size, sh_count, names = (
        struct.unpack_from("<HHIQQQIHHHHHH", kernel, 16)
    )
    end = sh_at + sh_size * sh_count
    if kind != 2 or machine != _EM_X86_64 or ph_size != 56 or sh_size != 64 or not 0 < ph_count < 32:
        raise KupError(f"The vmlinux has ELF type {kind} and machine {machine}, expected an executable for x86-64.")
    if ph_at + ph_size * ph_count > len(kernel) or not sh_count or end > len(kernel) or names >= sh_count:
        raise KupError("The vmlinux has headers outside of its file; the image is damaged.")
    segments = [
        segment
        for segment in struct.iter_unpack("<IIQQQQQQ", kernel[ph_at : ph_at + 56 * ph_count])
        if segment[0] == _PT_LOAD
    ]
    base, start, memory, span = _lay_out(kernel, segments)
    if not start <= entry < start + len(memory):
        raise KupError(f"The vmlinux begins at {entry:#x}, expected an address in its first segment.")
    sections = list(struct.iter_unpack("<IIQQQQIIQQ", kernel[sh_at:end]))
    return Vmlinux(
        base=base,
        entry=entry - start,
        memory=memory,
        span=span,
        btf=_section(kernel, sections, names, b".BTF"),
        relocations=_relocations(kernel[end:], base, span),
    )


def _lay_out(kernel, segments):
    """Return (virtual address, physical address, memory, span) of the whole."""
    if not segments:
        raise KupError("The vmlinux has no segment to load; the image is damaged.")
    base, start = segments[0][3], segments[0][4]
    if not KERNEL_MAP <= base < KERNEL_MAP + KERNEL_SPACE or base - KERNEL_MAP != start or start % (2 << 20):
        raise KupError(
            f"The vmlinux is linked at {base:#x} and loaded at {start:#x}, expected the kernel's own addresses."
        )
    memory, span = bytearray(), 0
    for _type, _flags, offset, virtual, physical, in_file, in_memory, _align in segments:
        at = physical - start
        # The area of per-CPU variables, linked at 0 up to 6.14, is the only one that does not run where it is loaded.
        if virtual not in (0, base + at) or at < span or in_file > in_memory or offset + in_file > len(kernel):
            raise KupError(
                f"The vmlinux has a segment at {virtual:#x} that overlaps or leaves the rest; the image is damaged."
            )
        if at + in_memory > KERNEL_SPACE:
            raise KupError(f"The vmlinux takes {at + in_memory} bytes of memory, expected at most {KERNEL_SPACE}.")
        memory.extend(bytes(at - len(memory)))
        memory += kernel[offset : offset + in_file]
        span = at + in_memory
    return base, start, memory, span


def _section(kernel, sections, names, wanted):
    """Content of the section called ``wanted``; empty if there is none."""
    names_at, names_size = sections[names][4:6]
    table = kernel[names_at : names_at + names_size]
    for name, kind, _flags, _address, offset, size, *_rest in sections:
        if kind != _SHT_NOBITS and table[name : name + len(wanted) + 1] == wanted + b"\0":
            if offset + size > len(kernel):
                raise KupError(f"The vmlinux has its {wanted.decode()} outside of the file; the image is damaged.")
            return kernel[offset : offset + size]
    return b""


def _relocations(words, base, span):
    """Split the list that arch/x86/tools/relocs has appended.

    It is made to be read from its end: 32-bit places, 0, [negative 32-bit places, 0,] 64-bit places, 0. A place is the low
    half of its virtual address. The middle part has gone with the absolute per-CPU area (6.15).
    """
    if not words:
        raise KupError("The kernel cannot be relocated (no relocations follow it), expected CONFIG_RANDOMIZE_BASE.")
    if len(words) % 4:
        raise KupError(f"The kernel's relocations have {len(words)} bytes, expected whole words; the image is damaged.")
    places = array.array("I", words)
    if sys.byteorder == "big":
        places.byteswap()
    ends, at = [], -1
    try:
        while True:
            at = places.index(0, at + 1)
            ends.append(at)
    except ValueError:
        pass
    if len(ends) not in (2, 3) or ends[0] != 0:
        raise KupError(
            f"The kernel's relocations come in {len(ends)} lists, expected two or three; this layout is unknown."
        )
    wide = places[1 : ends[1]]
    narrow = places[ends[-1] + 1 :]
    negative = places[ends[1] + 1 : ends[-1]]
    low = base & 0xFFFFFFFF
    found = []
    for part, width in ((wide, 8), (narrow, 4), (negative, 4)):
        if part and not low <= min(part) <= max(part) <= low + span - width:
            raise KupError("The kernel has relocations outside of itself; the image is damaged.")
        found.append(array.array("I", (place - low for place in part)))
    if not found[0] or not found[1]:
        raise KupError("The kernel has no 64-bit or no 32-bit relocations, expected many; this layout is unknown.")
    return tuple(found)
