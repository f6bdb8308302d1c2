# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Add the reservation to a kernel: redirect one call, and put a piece of code into free memory behind the kernel.

The code is files/stub/entry.c. It is called in place of ``e820__memblock_setup``: at that point the kernel knows its memory, and has
allocated none of it. If there are recorded frames, the code also redirects the calls that initialise struct pages of reserved memory
one by one. Without that redirection (a kernel whose calls are not as expected) the kernel is as correct, and slower.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from .._errors import KupError
from . import btf as btf_types
from . import stub

HOOKED = "e820__memblock_setup"
CALLER = "setup_arch"
# Who initialises struct pages of reserved memory (start, end, and since 6.7 the node); it has its second name since 7.0.
_INITIALISERS = ("reserve_bootmem_region", "memmap_init_reserved_range")
_INITIALISERS_CALLER = "memblock_free_all"

_PAGE = 4096
_LARGE_PAGE = 2 << 20

_MAGIC = b"KUPstub1"
# struct parameters of entry.c: the symbols of the first fields in their order, the number of distances, the offset of the code.
_SYMBOLS = (HOOKED, "memblock", "page_offset_base", "phys_base", "boot_command_line")
_DISTANCES = 10
_ENTRY = 56
# files/stub/pages.h
_STRUCT_PAGE = 64
_VMEMMAP = "vmemmap_base"

# files/stub/memblock.h: name → (size, offsets)
_LAYOUTS = {
    "memblock_region": (24, {"base": 0, "size": 8, "flags": 16, "nid": 20}),
    "memblock_type": (40, {"cnt": 0, "max": 8, "total_size": 16, "regions": 24, "name": 32}),
    "memblock": (96, {"bottom_up": 0, "current_limit": 8, "memory": 16, "reserved": 56}),
}


@dataclass(frozen=True)
class Place:
    """The places of the reservation in one kernel: virtual addresses as linked.

    :ivar call: of the call instruction in ``setup_arch``.
    :ivar room: of the free memory for the code.
    :ivar room_size: its bytes.
    :ivar initialiser: name of the function that initialises struct pages of reserved memory; empty: its calls stay.
    :ivar initialiser_calls: of these call instructions, one or two.
    """

    call: int
    room: int
    room_size: int
    initialiser: str
    initialiser_calls: tuple


def find(vmlinux, symbols):
    """Find the place for the reservation.

    :raises KupError: the kernel does not look exactly as expected.
    """
    _check_layouts(vmlinux.btf)
    for name in (*_SYMBOLS, _printk(symbols)):
        _inside(vmlinux, symbols[name], name)
    call = _find_call(vmlinux, symbols)
    room, size = _find_room(vmlinux, symbols)
    for start, length in ((call, 5), (room, size)):
        if _is_relocated(vmlinux, start, length):
            raise KupError(f"The kernel has a relocation at {start:#x}, expected none where it is changed.")
    return Place(call, room, size, *_find_initialiser(vmlinux, symbols))


def apply(vmlinux, symbols, place):
    """Write the reservation to its ``place`` in the kernel's memory."""
    code = bytearray(stub.RESERVE)
    if not code.startswith(_MAGIC):
        raise KupError(
            f"The reservation's code begins with {bytes(code[:8])!r}, expected {_MAGIC!r}; install the collection anew."
        )
    distances = [symbols[name] - place.room for name in (*_SYMBOLS, _printk(symbols))]
    if place.initialiser:
        distances += [symbols[name] - place.room for name in (_VMEMMAP, place.initialiser)]
        distances += [call - place.room for call in place.initialiser_calls]
    distances += [0] * (_DISTANCES - len(distances))
    struct.pack_into(f"<{_DISTANCES}ii", code, len(_MAGIC), *distances, place.room_size)
    start = place.room - vmlinux.base
    vmlinux.memory[start : start + len(code)] = code
    distance = place.room + _ENTRY - (place.call + 5)
    struct.pack_into("<i", vmlinux.memory, place.call - vmlinux.base + 1, distance)


def _printk(symbols):
    return "_printk" if "_printk" in symbols else "printk"  # renamed in 5.15


def _check_layouts(btf):
    found = btf_types.layouts(btf, list(_LAYOUTS))
    for name, expected in _LAYOUTS.items():
        if name not in found:
            raise KupError(f"The kernel's type information has no single struct {name}; this kernel is not supported.")
        if found[name] != expected:
            raise KupError(
                f"The kernel has the struct {name} {found[name]}, expected {expected}; this kernel is not supported."
            )


def _inside(vmlinux, address, name):
    offset = address - vmlinux.base
    if not 0 <= offset < vmlinux.span:
        raise KupError(
            f"The kernel has {name} at {address:#x}, expected a place in its {vmlinux.span} bytes at {vmlinux.base:#x}."
        )
    return offset


def _is_relocated(vmlinux, address, length):
    start = address - vmlinux.base
    return any(
        start - width < place < start + length
        for places, width in zip(vmlinux.relocations, (8, 4, 4), strict=True)
        for place in places
    )


def _calls(vmlinux, symbols, caller, called):
    """Addresses of the direct calls of one function in another."""
    start = _inside(vmlinux, symbols[caller], caller)
    end = min(_inside(vmlinux, symbols.end_of(caller), caller), len(vmlinux.memory))
    target = symbols[called] - vmlinux.base
    found = []
    at = vmlinux.memory.find(b"\xe8", start, end - 4)
    while at >= 0:
        if at + 5 + struct.unpack_from("<i", vmlinux.memory, at + 1)[0] == target:
            found.append(vmlinux.base + at)
        at = vmlinux.memory.find(b"\xe8", at + 1, end - 4)
    return found


def _find_call(vmlinux, symbols):
    """Address of the one direct call of the hooked function in its caller."""
    found = _calls(vmlinux, symbols, CALLER, HOOKED)
    if len(found) != 1:
        raise KupError(
            f"The kernel's {CALLER} calls {HOOKED} {len(found)} times, expected once; this kernel is not supported."
        )
    return found[0]


def _find_initialiser(vmlinux, symbols):
    """Name and call addresses of the function that initialises struct pages of reserved memory; ("", ()) if unlike expected."""
    names = [name for name in _INITIALISERS if name in symbols]
    size, _members = btf_types.layouts(vmlinux.btf, ["page"]).get("page", (0, {}))
    if len(names) != 1 or size != _STRUCT_PAGE or _VMEMMAP not in symbols or _INITIALISERS_CALLER not in symbols:
        return "", ()
    try:
        calls = _calls(vmlinux, symbols, _INITIALISERS_CALLER, names[0])
        _inside(vmlinux, symbols[_VMEMMAP], _VMEMMAP)
    except KupError:  # a symbol that is there more than once
        return "", ()
    # For reserved memory and for memory that is not mapped (nomap, since 6.1).
    if not 1 <= len(calls) <= 2 or any(_is_relocated(vmlinux, call, 5) for call in calls):
        return "", ()
    return names[0], tuple(calls)


def _find_room(vmlinux, symbols):
    """Return (address, size) of the memory behind the kernel's end that lies in its last large page.

    The kernel maps itself in large pages, to the end of the one in which the early heap (brk) begins (`cleanup_highmap`).
    """
    end = _inside(vmlinux, symbols["_end"], "_end")
    heap = _inside(vmlinux, symbols["__brk_base"], "__brk_base")
    start = -(-end // _PAGE) * _PAGE
    border = -(-start // _LARGE_PAGE) * _LARGE_PAGE
    need = len(stub.RESERVE)
    if border - start < need or heap // _LARGE_PAGE != start // _LARGE_PAGE:
        raise KupError(
            f"The kernel ends at {vmlinux.base + end:#x} and its early heap begins at {vmlinux.base + heap:#x},"
            f" expected both, and {need} bytes more, in one large page; there is no room for the reservation."
        )
    if border > len(vmlinux.memory) or any(memoryview(vmlinux.memory)[start:border]):
        raise KupError(
            f"The kernel has no free memory at {vmlinux.base + start:#x}, expected zeros up to the next 2 MiB border."
        )
    return vmlinux.base + start, border - start
