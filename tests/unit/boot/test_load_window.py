"""The window that the next kernel is loaded to: inside memory, large enough, every place as likely as the other."""

import struct

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import load_window
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError

MIB = 1 << 20

IOMEM = """00001000-0009fbff : System RAM
000a0000-000bffff : PCI Bus 0000:00
00100000-3ffdefff : System RAM
  02000000-02ffffff : Kernel code
fec00000-fec003ff : IOAPIC 0
100000000-13fffffff : System RAM
"""


def test_memory_of_a_machine(tmp_path):
    path = tmp_path / "iomem"
    path.write_text(IOMEM)
    assert load_window.ram(str(path)) == [(0x1000, 0x9FC00), (0x100000, 0x3FFDF000), (0x100000000, 0x140000000)]
    path.write_text("00000000-00000000 : System RAM\n")
    with pytest.raises(KupError, match="run this as root"):
        load_window.ram(str(path))


def test_memory_that_a_driver_has_added(tmp_path):
    path = tmp_path / "iomem"
    path.write_text(
        "00100000-7fffffff : System RAM\n"
        "  01000000-01ffffff : Kernel code\n"
        "140000000-14fffffff : virtio0\n"
        "  140000000-147ffffff : System RAM (virtio_mem)\n"
        "180000000-1bfffffff : System RAM (kmem)\n"
    )
    assert load_window.transient(str(path)) == [(0x140000000, 0x148000000), (0x180000000, 0x1C0000000)]
    assert load_window.ram(str(path)) == [(0x100000, 0x80000000)]


def test_size(tmp_path):
    image, initrd = tmp_path / "image", tmp_path / "initrd"
    image.write_bytes(bytes(0x260) + struct.pack("<I", 60 * MIB) + bytes(100))
    initrd.write_bytes(bytes(1000))
    assert load_window.size(image) == 64 * MIB
    assert load_window.size(image, initrd) == 64 * MIB + 1000
    assert load_window.size(image, initrd, 100000) == 64 * MIB + 1000 + 2400000


def test_every_place_once():
    ranges = [(0x1000, 0x9FC00), (MIB, 24 * MIB + 5), (64 * MIB + 1, 71 * MIB), (100 * MIB, 104 * MIB)]
    drawn = []
    number = []

    def draw(count):
        number.append(count)
        return len(drawn)

    while not number or len(drawn) < number[0]:
        drawn.append(load_window.choose(ranges, 4 * MIB - 100, draw))
    assert drawn == [(first * MIB, first * MIB + 4 * MIB - 1) for first in (16, 18, 20, 66, 100)]
    assert set(number) == {5}


def test_no_place():
    with pytest.raises(KupError, match="has 64 MiB"):
        load_window.choose([(0, 64 * MIB)], 63 * MIB)


def test_pages_of_processes_are_counted_by_their_flag(tmp_path):
    flags = tmp_path / "kpageflags"
    anonymous, other = 1 << 12 | 1 << 5, 1 << 11 | 1 << 13 | 1
    flags.write_bytes(struct.pack("<6Q", anonymous, other, anonymous, anonymous, other, anonymous))
    assert load_window.occupied((0x1000, 0x4FFF), str(flags)) == 2


def test_the_emptiest_window_is_taken(monkeypatch):
    seen = []

    def occupied(window):
        seen.append(window)
        return abs(window[0] - 512 * MIB)

    monkeypatch.setattr(load_window, "occupied", occupied)
    taken = load_window.emptiest([(16 * MIB, 1024 * MIB)], 8 * MIB)
    assert taken in seen and len(seen) > 1
    assert occupied(taken) == min(map(occupied, list(seen)))
