"""Preserved kernels that are unpacked beforehand, and those that are loaded as they are."""

import struct
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._blocker import Blocker
from ansible_collections.kup.fleet.plugins.module_utils._boot import kexec as kexec_tool
from ansible_collections.kup.fleet.plugins.module_utils._engines import direct, registry
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError

RAM = [(0x1000000, 0x40000000)]
#: Of a kernel of 32 MiB: its header says what it takes while it starts.
IMAGE = bytes(0x260) + struct.pack("<I", 32 << 20)


@pytest.fixture
def node(monkeypatch, tmp_path):
    """A node with the preserved kernel 7.2.1, and what kexec(8) was told."""
    place = tmp_path / "7.2.1"
    place.mkdir()
    (place / "staged").write_text("123 456 none\nquiet\n")
    found = types.SimpleNamespace(place=place, told=[], blockers=[], refuses=False, free=1 << 30)

    def load_summed(image, options, more=""):
        if found.refuses:
            raise KupError("kexec refuses.")
        found.told.append((image, options, more))

    monkeypatch.setattr(kexec_tool, "KERNELS", str(tmp_path))
    monkeypatch.setattr(kexec_tool, "unload", lambda: found.told.append("unload"))
    monkeypatch.setattr(kexec_tool, "load", lambda *arguments: found.told.append(arguments))
    monkeypatch.setattr(kexec_tool, "load_summed", load_summed)
    monkeypatch.setattr(direct.load_window, "ram", lambda: RAM)
    monkeypatch.setattr(direct.memory, "available", lambda: found.free)
    monkeypatch.setattr(direct.kernel_image, "unpack", lambda path: path)
    monkeypatch.setattr(direct.kernel_image, "assemble", lambda kernel: IMAGE)
    monkeypatch.setattr(direct.kernel_image, "blockers", lambda kernel: found.blockers)
    return found


def test_a_kernel_is_unpacked_once_and_proven_to_load(node):
    assert direct.prepare("7.2.1")
    assert (node.place / "unpacked").read_bytes() == IMAGE
    assert node.told == [(f"{node.place}/unpacked", ["--kexec-syscall"], ""), "unload"]
    assert (node.place / "unpacked.window").read_text().startswith("--kexec-syscall --mem-min=0x")
    assert not direct.prepare("7.2.1")
    assert len(node.told) == 2
    assert direct.refusal("7.2.1") == ""


def test_it_is_loaded_into_a_window_of_memory_that_is_drawn(node):
    direct.prepare("7.2.1")
    node.told.clear()
    direct.load("7.2.1", "crashkernel=1K@0")
    first, (image, options, more) = node.told
    assert first == "unload"
    assert (image, more) == (f"{node.place}/unpacked", "crashkernel=1K@0")
    start, last = (int(word.partition("=")[2], 16) for word in options[1:])
    assert options[0] == "--kexec-syscall" and RAM[0][0] <= start and last < RAM[0][1] and last - start >= 32 << 20


@pytest.mark.parametrize("what", ["blocker", "refuses"])
def test_what_cannot_be_entered_at_once_is_loaded_as_it_is(node, what):
    direct.prepare("7.2.1")
    (node.place / "staged").write_text("124 456 none\nquiet\n")
    node.refuses = what == "refuses"
    node.blockers = [Blocker("image", "The kernel", "is locked down", "wait")] if what == "blocker" else []
    assert not direct.prepare("7.2.1")
    assert sorted(path.name for path in node.place.iterdir()) == ["staged", "unpacked.refused"]
    assert ("locked down" if what == "blocker" else "kexec refuses") in direct.refusal("7.2.1")
    node.told.clear()
    direct.load("7.2.1", "word")
    assert node.told == ["unload", ("7.2.1", "word")]


def test_where_kexec_refuses_later_the_kernel_is_loaded_as_it_is(node):
    direct.prepare("7.2.1")
    node.refuses = True
    node.told.clear()
    direct.load("7.2.1")
    assert node.told == ["unload", ("7.2.1", "")]


@pytest.mark.parametrize(
    ("line", "free", "said"),
    [
        ("quiet hugepagesz=1G hugepages=4", 1 << 30, "hugepagesz=1G"),
        ("quiet", 100 << 20, "100 MiB of memory are available"),
    ],
)
def test_what_only_a_decompressor_knows_and_a_node_without_room(node, line, free, said):
    (node.place / "cmdline").write_text(f"{line}\n")
    node.free = free
    assert not direct.prepare("7.2.1")
    assert said in direct.refusal("7.2.1")


def test_with_firmware_tables_below_a_kernel_lies_above_them(node, monkeypatch):
    direct.prepare("7.2.1")
    monkeypatch.setattr(direct.load_window, "ram", lambda: [*RAM, (4 << 30, 6 << 30)])
    monkeypatch.setattr(direct, "_EFI", str(node.place))
    node.told.clear()
    direct.load("7.2.1")
    assert int(node.told[1][1][1].partition("=")[2], 16) >= 4 << 30


def test_a_reason_goes_with_its_cause(node):
    node.refuses = True
    direct.prepare("7.2.1")
    node.refuses = False
    assert direct.prepare("7.2.1")
    assert direct.refusal("7.2.1") == ""


@pytest.mark.parametrize("engine", ["auto", "criu", "foam", "ppp"])
def test_every_engine_needs_what_reads_a_kernel(monkeypatch, engine):
    monkeypatch.setattr(direct, "find_spec", lambda name: None)
    assert "python3-pyelftools" in registry.packages(engine, [])
