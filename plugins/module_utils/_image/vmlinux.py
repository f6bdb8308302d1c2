# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The unpacked kernel: an ELF file with its relocations behind it, laid out as in memory."""

from __future__ import annotations

import array
import io
import sys
from dataclasses import dataclass

from .._errors import KupError

# __START_KERNEL_map, and KERNEL_IMAGE_SIZE of every kernel that can be relocated.
KERNEL_MAP = 0xFFFFFFFF80000000
KERNEL_SPACE = 1 << 30

# Segments, and sections; a kernel has five and about forty.
_MOST = 256


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
    try:
        # Here: its import takes as long as that of a third of this library, and only the preparation of a kernel comes here.
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
    except ImportError:
        raise KupError("The Python library elftools is missing; install the package python3-pyelftools.") from None
    if kernel[:6] != b"\x7fELF\x02\x01":
        raise KupError("The payload is not a 64-bit ELF file, expected a vmlinux.")
    try:
        elf = ELFFile(io.BytesIO(kernel))
        head, segments, sections, end = elf.header, *_parts(elf)
        btf = elf.get_section_by_name(".BTF")
    # What pyelftools raises for a broken file depends on where it is broken.
    except (ELFError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise KupError(f"The vmlinux cannot be read as an ELF file ({error}); the image is damaged.") from error
    if head["e_type"] != "ET_EXEC" or head["e_machine"] != "EM_X86_64":
        raise KupError(
            f"The vmlinux has ELF type {head['e_type']} and machine {head['e_machine']}, expected an executable for x86-64."
        )
    if not sections or end > len(kernel):
        raise KupError("The vmlinux has headers outside of its file; the image is damaged.")
    base, start, memory, span = _lay_out(kernel, segments)
    if not start <= head["e_entry"] < start + len(memory):
        raise KupError(f"The vmlinux begins at {head['e_entry']:#x}, expected an address in its first segment.")
    return Vmlinux(
        base=base,
        entry=head["e_entry"] - start,
        memory=memory,
        span=span,
        btf=_content(kernel, btf.header) if btf else b"",
        relocations=_relocations(kernel[end:], base, span),
    )


def _parts(elf):
    """Return (segments to load, number of sections, place of the first byte after the file's headers)."""
    if elf.num_segments() > _MOST or elf.num_sections() > _MOST:
        raise KupError(f"The vmlinux has more than {_MOST} segments or sections; the image is damaged.")
    segments = [segment.header for segment in elf.iter_segments() if segment.header["p_type"] == "PT_LOAD"]
    return segments, elf.num_sections(), elf.header["e_shoff"] + elf.header["e_shentsize"] * elf.num_sections()


def _content(kernel, section):
    offset, size = section["sh_offset"], section["sh_size"]
    if section["sh_type"] == "SHT_NOBITS" or offset + size > len(kernel):
        raise KupError("The vmlinux has its .BTF outside of the file; the image is damaged.")
    return kernel[offset : offset + size]


def _lay_out(kernel, segments):
    """Return (virtual address, physical address, memory, span) of the whole."""
    if not segments:
        raise KupError("The vmlinux has no segment to load; the image is damaged.")
    base, start = segments[0]["p_vaddr"], segments[0]["p_paddr"]
    if not KERNEL_MAP <= base < KERNEL_MAP + KERNEL_SPACE or base - KERNEL_MAP != start or start % (2 << 20):
        raise KupError(
            f"The vmlinux is linked at {base:#x} and loaded at {start:#x}, expected the kernel's own addresses."
        )
    memory, span = bytearray(), 0
    for segment in segments:
        offset, virtual = segment["p_offset"], segment["p_vaddr"]
        in_file, in_memory = segment["p_filesz"], segment["p_memsz"]
        at = segment["p_paddr"] - start
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
