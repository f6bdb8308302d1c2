"""A kernel image of a few kilobytes that has everything the patcher looks at, and can be made wrong in each point."""

import ctypes
import lzma
import struct

BASE = 0xFFFFFFFF81000000
SIZE = 8 << 20
TEXT = {"startup_64": 0x100, "setup_arch": 0x1000, "e820__memblock_setup": 0x2000, "_printk": 0x3000}
CALL = 0x1040
# Who initialises struct pages, and its two calls.
PAGES = {"memblock_free_all": 0x4000, "reserve_bootmem_region": 0x5000}
PAGES_CALLS = (0x4020, 0x4060)
DATA = {"memblock": 0x200000, "page_offset_base": 0x200100, "phys_base": 0x200108, "boot_command_line": 0x200200}
DATA |= {"vmemmap_base": 0x200300}
ENDS = {"_text": 0, "__brk_base": 0x600000, "_end": 0x610000}
TABLES = 0x100000

MEMBLOCK = {
    "memblock_region": (24, [("base", 0), ("size", 8), ("flags", 16), ("nid", 20)]),
    "memblock_type": (40, [("cnt", 0), ("max", 8), ("total_size", 16), ("regions", 24), ("name", 32)]),
    "memblock": (96, [("bottom_up", 0), ("current_limit", 8), ("memory", 16), ("reserved", 56)]),
    "page": (64, [("flags", 0)]),
}


def symbols():
    found = {**TEXT, **PAGES, **DATA, **ENDS}
    found |= {f"function_{number:03}": 0x10000 + 16 * number for number in range(700)}
    found["a_name_that_needs_a_second_byte_for_its_length_" * 4] = 0x20000
    return found


def btf(layouts=None, kinds=()):
    """Type information with these structures, and before them types of the given (kind, bytes that follow)."""
    names, types = b"\0", b"".join(struct.pack("<III", 0, kind << 24, 4) + bytes(extra) for kind, extra in kinds)
    for name, (size, members) in (MEMBLOCK if layouts is None else layouts).items():
        types += struct.pack("<III", len(names), 4 << 24 | len(members), size)
        names += name.encode() + b"\0"
        for member, offset in members:
            types += struct.pack("<III", len(names), 1, offset * 8)
            names += member.encode() + b"\0"
    return struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(names)) + types + names


def kallsyms(layout, table, at=TABLES):
    """The tables as scripts/kallsyms.c would write them to the offset ``at``, without any real packing."""
    ordered = sorted(table.items(), key=lambda pair: pair[1])
    names, markers = b"", []
    for number, (name, _offset) in enumerate(ordered):
        if number % 256 == 0:
            markers.append(len(names))
        text = b"T" + name.encode()
        length = bytes([len(text)]) if len(text) < 128 else bytes([len(text) & 127 | 128, len(text) >> 7])
        names += length + text
    tokens = [chr(code).encode() if 32 < code < 127 else b"" for code in range(256)]
    tokens[1] = b"several_letters"
    index = [sum(len(token) + 1 for token in tokens[:number]) for number in range(256)]

    def padded(content):
        return content + bytes(-len(content) % 8)

    count = struct.pack("<Q", len(ordered))
    names = padded(names) + padded(struct.pack(f"<{len(markers)}I", *markers))
    packed = padded(b"".join(token + b"\0" for token in tokens)) + struct.pack("<256H", *index)
    relative = struct.pack("<Q", BASE)
    absolute = padded(b"".join(struct.pack("<i", -1 - offset) for _name, offset in ordered))
    if layout in ("5.10", "6.1"):
        order = padded(bytes(3 * len(ordered))) if layout == "6.1" else b""
        return absolute + relative + count + names + order + packed
    head = count + names + packed
    if layout == "6.4":
        return head + absolute + relative
    if layout == "6.15":
        return head + padded(b"".join(struct.pack("<I", offset) for _name, offset in ordered)) + relative
    place = at + len(head)
    return head + b"".join(struct.pack("<i", offset - place - 4 * n) for n, (_name, offset) in enumerate(ordered))


def memory(layout="7.0", table=None, calls=(CALL,), pages_calls=PAGES_CALLS):
    content = bytearray(SIZE)
    targets = dict.fromkeys(calls, TEXT["e820__memblock_setup"]) | dict.fromkeys(
        pages_calls, PAGES["reserve_bootmem_region"]
    )
    for call, target in targets.items():
        content[call : call + 5] = b"\xe8" + struct.pack("<i", target - call - 5)
    tables = kallsyms(layout, table or symbols())
    content[TABLES : TABLES + len(tables)] = tables
    return content


def relocations(wide=(0x200000, 0x200108), narrow=(0x40, 0x1080), negative=(0x90,)):
    """As arch/x86/tools/relocs writes them; ``negative`` is None for kernels that have none."""
    low = BASE & 0xFFFFFFFF
    parts = [wide, narrow] if negative is None else [wide, negative, narrow]
    return b"".join(struct.pack(f"<{len(part) + 1}I", 0, *(low + place for place in part)) for part in parts)


def vmlinux(content, types=None, base=BASE, machine=62):
    """An ELF file with one segment and the section .BTF."""
    types = btf() if types is None else types
    names = b"\0.BTF\0.shstrtab\0"
    at = 0x1000
    types_at = at + len(content)
    names_at = types_at + len(types)
    sections_at = names_at + len(names)
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 2, machine, 1, base - 0xFFFFFFFF80000000 + 0x100, 64, sections_at, 0, 64, 56, 1, 64, 3, 2
    )
    segment = struct.pack("<IIQQQQQQ", 1, 7, at, base, base - 0xFFFFFFFF80000000, len(content), len(content), 0x200000)
    sections = bytes(64) + struct.pack("<IIQQQQIIQQ", 1, 1, 0, 0, types_at, len(types), 0, 0, 1, 0)
    sections += struct.pack("<IIQQQQIIQQ", 6, 3, 0, 0, names_at, len(names), 0, 0, 1, 0)
    return (header + segment).ljust(at, b"\0") + content + types + names + sections


def _lz4(content):
    """LZ4's legacy format: blocks of 8 MiB, each one run of literals (packed by the library)."""
    library, out = ctypes.CDLL("liblz4.so.1"), bytes.fromhex("02214c18")
    for at in range(0, len(content), 8 << 20):
        block = content[at : at + (8 << 20)]
        room = ctypes.create_string_buffer(len(block) + len(block) // 255 + 16)
        size = library.LZ4_compress_default(block, room, len(block), len(room))
        out += struct.pack("<I", size) + room.raw[:size]
    return out


def _zstd(content):
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compress.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(len(content) + 65536)
    size = library.ZSTD_compress(room, ctypes.c_size_t(len(room)), content, ctypes.c_size_t(len(content)), 1)
    return room.raw[:size]


PACK = {"lz4": _lz4, "zstd": _zstd, "xz": lambda content: lzma.compress(content, preset=0)}


def bzimage(kernel, compression="zstd", flags=0x7F, protocol=0x20F):
    """A bzImage around ``kernel``, vmlinux with its relocations."""
    payload = PACK[compression](kernel) + struct.pack("<I", len(kernel))
    setup = bytearray(0x1000)
    setup[0x1F1] = len(setup) // 512 - 1
    setup[0x202:0x206] = b"HdrS"
    version = b"6.99.1-cloud-amd64 (somebody) #1 SMP\0"
    setup[0x800 : 0x800 + len(version)] = version
    for kind, offset, value in (
        ("<H", 0x1FE, 0xAA55),
        ("<H", 0x206, protocol),
        ("<H", 0x20E, 0x600),
        ("<H", 0x236, flags),
        ("<I", 0x248, 0x300),
        ("<I", 0x24C, len(payload)),
        ("<I", 0x264, 0x190),
    ):
        struct.pack_into(kind, setup, offset, value)
    return bytes(setup) + bytes(0x300) + payload + bytes(64)


def image(layout="7.0", compression="zstd", **wrong):
    """A whole image. ``wrong`` may replace: table, calls, pages_calls (of `memory`), types, base, machine (of `vmlinux`), moves, flags."""
    content = memory(layout, wrong.get("table"), wrong.get("calls", (CALL,)), wrong.get("pages_calls", PAGES_CALLS))
    for offset, value in wrong.get("bytes", {}).items():
        content[offset] = value
    kernel = vmlinux(bytes(content), wrong.get("types"), wrong.get("base", BASE), wrong.get("machine", 62))
    moves = (
        wrong["moves"]
        if "moves" in wrong
        else relocations(negative=(0x90,) if layout in ("5.10", "6.1", "6.4") else None)
    )
    return bzimage(kernel + moves, compression, wrong.get("flags", 0x7F))
