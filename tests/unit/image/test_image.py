"""Kernel images: read in every layout, patched in exactly two places, refused when anything is not as expected."""

import hashlib
import pathlib
import struct
import types

import fakekernel
import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._image import btf, bzimage, kallsyms, patch, stub
from ansible_collections.kup.fleet.plugins.module_utils._image import image as kernel_image
from ansible_collections.kup.fleet.plugins.module_utils._image import vmlinux as vmlinux_elf

LAYOUTS = ["5.10", "6.1", "6.4", "6.15", "7.0"]
ROOM = 0x610000


@pytest.fixture
def read(tmp_path):
    def reader(**wrong):
        path = tmp_path / "vmlinuz"
        path.write_bytes(fakekernel.image(**wrong))
        return kernel_image.read(str(path))

    return reader


@pytest.mark.parametrize("layout", LAYOUTS)
def test_symbols_of_every_layout(layout):
    wanted = fakekernel.symbols()
    found = kallsyms.parse(fakekernel.memory(layout), fakekernel.BASE)
    assert found.layout == {"6.1": "5.10"}.get(layout, layout)
    assert len(found) == len(wanted)
    assert {name: found[name] - fakekernel.BASE for name in wanted} == wanted


def test_symbol_that_is_not_there_or_not_alone():
    found = kallsyms.Symbols("7.0", ["one", "two", "two", "three", "three"], [16, 32, 48, 64, 64])
    assert found["one"] == 16 and found["three"] == 64 and found.end_of("one") == 32
    with pytest.raises(KupError, match="no symbol four"):
        found["four"]
    with pytest.raises(KupError, match="several symbols two"):
        found["two"]


@pytest.mark.parametrize("compression", ["lz4", "xz", "zstd"])
def test_every_compression(read, compression):
    image = kernel_image.describe(read(compression=compression))
    assert image["compression"] == compression
    assert image["release"] == "6.99.1-cloud-amd64"
    assert image["call_address"] == f"{fakekernel.BASE + fakekernel.CALL:#x}"
    assert image["room_address"] == f"{fakekernel.BASE + ROOM:#x}" and image["room_bytes"] == 0x1F0000


def patched(kernel):
    """(offsets that patching has changed, memory afterwards)."""
    before = bytes(kernel.vmlinux.memory)
    patch.apply(kernel.vmlinux, kernel.symbols, kernel.place)
    after = kernel.vmlinux.memory
    return {at for at in range(len(before)) if before[at] != after[at]}, after


def called(memory, call):
    return call + 5 + struct.unpack_from("<i", memory, call + 1)[0]


def test_patched_in_calls_and_room_only(read):
    changed, after = patched(read(layout="6.4"))
    code = range(ROOM, ROOM + len(stub.RESERVE))
    assert changed <= {*range(fakekernel.CALL + 1, fakekernel.CALL + 5), *code}
    # The call goes to the code's entry, and the code finds everything by its distance.
    assert called(after, fakekernel.CALL) == ROOM + 56
    distances = struct.unpack_from("<11i", after, ROOM + 8)
    names = ("e820__memblock_setup", "memblock", "page_offset_base", "phys_base", "boot_command_line", "_printk")
    names += ("vmemmap_base", "reserve_bootmem_region")
    assert [ROOM + distance for distance in distances[:8]] == [fakekernel.symbols()[name] for name in names]
    assert tuple(ROOM + distance for distance in distances[8:10]) == fakekernel.PAGES_CALLS
    assert distances[10] == 0x1F0000
    assert after[ROOM + 56 : code.stop] == stub.RESERVE[56:]


def test_where_struct_pages_are_initialised_once_there_is_one_call(read):
    _changed, after = patched(read(layout="6.4", pages_calls=(0x4020,)))
    assert struct.unpack_from("<2i", after, ROOM + 40) == (0x4020 - ROOM, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"pages_calls": ()},
        {"pages_calls": (0x4020, 0x4040, 0x4060)},
        {"table": {name: at for name, at in fakekernel.symbols().items() if name != "reserve_bootmem_region"}},
        {"table": {name: at for name, at in fakekernel.symbols().items() if name != "memblock_free_all"}},
        {"table": {name: at for name, at in fakekernel.symbols().items() if name != "vmemmap_base"}},
        {"table": fakekernel.symbols() | {"memmap_init_reserved_range": 0x5000}},
        {"types": fakekernel.btf({**fakekernel.MEMBLOCK, "page": (56, [("flags", 0)])})},
        {"moves": fakekernel.relocations(narrow=(0x40, 0x4021))},
    ],
)
def test_struct_pages_are_the_kernels_own_affair_where_it_is_not_as_expected(read, wrong):
    kernel = read(layout="6.4", **wrong)
    assert kernel_image.describe(kernel)["initialiser"] == ""
    _changed, after = patched(kernel)
    assert struct.unpack_from("<4i", after, ROOM + 32) == (0, 0, 0, 0)


@pytest.mark.parametrize("layout", ["6.4", "7.0"])
def test_image_that_loaders_take(read, layout):
    kernel = read(layout=layout)
    image = kernel_image.build(kernel)
    setup, loaded = image[:0x1000], image[0x1000:]
    assert setup[0x202:0x206] == b"HdrS" and setup[0x800:0x900] == kernel.image.setup[0x800:0x900]
    assert bzimage.field(setup, "<I", bzimage.SYSSIZE) * 16 == len(loaded)
    assert bzimage.field(setup, "<H", bzimage.XLOADFLAGS) == 0x73
    assert bzimage.field(setup, "<I", bzimage.HANDOVER_OFFSET) == 0
    kernel_at, entry, list_at, wide, narrow, negative, slots, stack = struct.unpack_from("<8I", loaded, 0x288)
    assert loaded[0x280:0x288] == b"KUPboot2" and kernel_at % (2 << 20) == 0
    assert len(stub.BOOT) <= stack < len(stub.BOOT) + 32 and stack % 32 == 0 and not any(loaded[stack:list_at])
    # Until kexec(8) loads it, somebody else has to compare check sums.
    assert loaded[0x2C0:0x2C8] == b"\0KUPnone" and not any(loaded[0x2C8:0x520])
    assert loaded[kernel_at : kernel_at + fakekernel.SIZE] == kernel.vmlinux.memory
    assert entry == 0x100 and (wide, narrow, negative) == (2, 2, 1 if layout == "6.4" else 0)
    places = struct.unpack_from(f"<{wide + narrow + negative}I", loaded, list_at)
    assert places == (0x200000, 0x200108, 0x40, 0x1080, *((0x90,) if layout == "6.4" else ()))
    assert bzimage.field(setup, "<I", bzimage.INIT_SIZE) == kernel_at + fakekernel.SIZE
    # The last slot still ends within the kernel's 1 GiB.
    assert (16 << 20) + (slots - 1) * (2 << 20) + fakekernel.SIZE <= 1 << 30
    assert (16 << 20) + slots * (2 << 20) + fakekernel.SIZE > 1 << 30


def renamed(**names):
    return {names.get(name, name): offset for name, offset in fakekernel.symbols().items()}


def moved(**offsets):
    return {**fakekernel.symbols(), **offsets}


REFUSED = [
    ({"calls": ()}, "calls e820__memblock_setup 0 times"),
    ({"calls": (fakekernel.CALL, fakekernel.CALL + 16)}, "calls e820__memblock_setup 2 times"),
    ({"table": renamed(setup_arch="setup_other")}, "no symbol setup_arch"),
    ({"table": renamed(phys_base="other_base")}, "no symbol phys_base"),
    ({"table": renamed(_printk="print")}, "no symbol printk"),
    ({"table": moved(_end=0x7FFF00)}, "no room for the reservation"),
    ({"table": moved(_end=0x600000, __brk_base=0x5F0000)}, "no room for the reservation"),
    ({"bytes": {ROOM + 5000: 1}}, "expected zeros"),
    ({"types": b""}, "no type information"),
    ({"types": fakekernel.btf({})}, "no single struct memblock_region"),
    ({"types": fakekernel.btf({**fakekernel.MEMBLOCK, "memblock_type": (48, [])})}, "struct memblock_type"),
    ({"types": fakekernel.btf(kinds=[(25, 0)])}, "kind 25"),
    ({"types": fakekernel.btf()[:-40]}, "cut off"),
    ({"moves": b""}, "cannot be relocated"),
    ({"moves": b"\0" * 6}, "expected whole words"),
    ({"moves": fakekernel.relocations() + fakekernel.relocations()}, "expected two or three"),
    ({"moves": fakekernel.relocations(wide=(fakekernel.SIZE,))}, "outside of itself"),
    ({"moves": fakekernel.relocations(narrow=(fakekernel.CALL + 1,))}, "relocation at"),
    ({"moves": fakekernel.relocations(wide=(ROOM - 4,))}, "relocation at"),
    ({"machine": 183}, "expected an executable for x86-64"),
    ({"base": fakekernel.BASE + 4096}, "linked at"),
    ({"flags": 0x7C}, "64-bit kernel"),
    ({"bytes": {fakekernel.TABLES: 7}}, "known layouts"),
]


@pytest.mark.parametrize(("wrong", "reason"), REFUSED, ids=[reason for _wrong, reason in REFUSED])
def test_refused(read, wrong, reason):
    with pytest.raises(KupError, match=reason):
        read(**wrong)


def test_no_image_at_all(tmp_path):
    path = tmp_path / "vmlinuz"
    with pytest.raises(KupError, match="cannot be read"):
        kernel_image.read(str(path))
    path.write_bytes(b"#!/bin/sh\n" * 1000)
    with pytest.raises(KupError, match="no setup header"):
        kernel_image.read(str(path))


@pytest.mark.parametrize("compression", ["lz4", "xz", "zstd"])
def test_damaged_payload(compression):
    kernel = fakekernel.vmlinux(bytes(fakekernel.memory())) + fakekernel.relocations(negative=None)
    image = bytearray(fakekernel.bzimage(kernel, compression))
    with pytest.raises(KupError, match="claims"):
        bzimage.parse(bytes(image[:-68] + b"\xff\xff\xff\xff" + image[-64:]))
    with pytest.raises(KupError, match="damaged"):
        bzimage.parse(bytes(image[:-68] + struct.pack("<I", len(kernel) + 5) + image[-64:]))
    image[0x1300:0x1304] = b"BZh9"
    with pytest.raises(KupError, match="expected LZ4"):
        bzimage.parse(bytes(image))


def test_cut_anywhere_is_refused(read):
    whole = fakekernel.image(compression="lz4")
    kernel = bzimage.parse(whole).kernel
    for cut in (3, 70, 5000, fakekernel.SIZE, len(kernel) - 300, len(kernel) - 90):
        with pytest.raises(KupError):
            vmlinux = vmlinux_elf.parse(kernel[:cut])
            patch.find(vmlinux, kallsyms.parse(vmlinux.memory, vmlinux.base))
    for cut in (0, 100, 0x1000, 0x1304, len(whole) // 2):
        with pytest.raises(KupError):
            bzimage.parse(whole[:cut])


def test_structures_that_differ_are_none():
    one, other = fakekernel.MEMBLOCK, {"memblock": (8, [("x", 0)])}
    both = fakekernel.btf(one)
    assert set(btf.layouts(both, ["memblock", "missing"])) == {"memblock"}
    # Every kind of type before them is stepped over.
    extras = [(1, 4), (2, 0), (3, 12), (14, 4), (17, 4), (18, 0)]
    assert btf.layouts(fakekernel.btf(one, extras), list(one)) == {
        name: (size, dict(m)) for name, (size, m) in one.items()
    }
    assert btf.layouts(fakekernel.btf(other), ["memblock"]) == {"memblock": (8, {"x": 0})}


def test_cache_knows_what_it_holds(read, tmp_path):
    kernel = read()
    path = kernel_image.cached_path(kernel, str(tmp_path / "cache"))
    assert not kernel_image.is_cached(path)
    kernel_image.write(kernel_image.build(kernel), path)
    assert kernel_image.is_cached(path)
    content = pathlib.Path(path).read_bytes()
    assert pathlib.Path(f"{path}.sha256").read_text().strip() == hashlib.sha256(content).hexdigest()
    assert pathlib.Path(path).stat().st_mode & 0o777 == 0o600
    pathlib.Path(path).write_bytes(content[:-1] + b"x")
    assert not kernel_image.is_cached(path)
    # The same image and code, the same name and content.
    again = read()
    assert kernel_image.cached_path(again, str(tmp_path / "cache")) == path and kernel_image.build(again) == content


@pytest.mark.parametrize(
    ("flags", "lockdown", "knows", "guest", "code"),
    [
        ("fpu la57 x", "[none] integrity", True, "none", []),
        ("fpu la57 x", "[none] integrity", False, "none", ["five-level-paging"]),
        ("fpu x", "[none] integrity", False, "none", []),
        ("fpu x", "none [integrity] confidentiality", True, "", ["unsigned-image"]),
        ("fpu x", "", True, "sev-snp", ["encrypted-memory"]),
        ("fpu x", "", True, "tdx", ["encrypted-memory"]),
    ],
)
def test_what_a_machine_cannot_start(monkeypatch, read, flags, lockdown, knows, guest, code):
    kernel = read() if knows else read(flags=0x3F)
    files = {"/proc/cpuinfo": f"flags\t\t: {flags}\nbugs\t\t: none\n", "/sys/kernel/security/lockdown": lockdown}
    monkeypatch.setattr(kernel_image, "read_text", lambda path, default: files[path])
    monkeypatch.setattr(kernel_image, "run", lambda argv, check: types.SimpleNamespace(stdout=f"{guest}\n"))
    assert [blocker.code for blocker in kernel_image.blockers(kernel)] == code


def test_an_unpacked_kernel_is_as_it_was(read, tmp_path):
    read()
    kernel = kernel_image.unpack(str(tmp_path / "vmlinuz"))
    before = bytes(kernel.vmlinux.memory)
    image = kernel_image.assemble(kernel)
    at = 0x1000 + struct.unpack_from("<I", image, 0x1000 + 0x288)[0]
    assert image[at : at + len(before)] == before
