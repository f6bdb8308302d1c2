# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether firmware files have newer microcode; with files in the formats of Intel and AMD."""

from __future__ import annotations

import random
import struct

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system import microcode

INTEL = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nstepping\t: 8\nmicrocode\t: 0x2b000571\nflags\t\t: fpu vme\n"
# An EPYC of the family 0x19.
AMD = "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nstepping\t: 1\nmicrocode\t: 0xa101144\nflags\t\t: fpu vme\n"
AMD_SIGNATURE = 0x00A10F11


def update(revision, platforms, size=64):
    return struct.pack("<9I12x", 1, revision, 0x06142024, 0x806F8, 0, 1, platforms, size - 48, size).ljust(size, b"\1")


def container(entries, patches):
    """A file of amd-ucode: entries are pairs of a signature and its equivalent id, patches pairs of a revision and such an id."""
    table = b"".join(
        struct.pack("<3I2H", signature, 0, 0, equivalent, 0) for signature, equivalent in [*entries, (0, 0)]
    )
    body = struct.pack("<3I", 0x00414D44, 0, len(table)) + table
    for revision, equivalent in patches:
        patch = struct.pack("<2I16xH", 0, revision, equivalent).ljust(96, b"\1")
        body += struct.pack("<2I", 1, len(patch)) + patch
    return body


@pytest.fixture
def node(tmp_path, monkeypatch):
    """Sets what the node says of its processor, and its firmware files."""
    for name in ("_CPUINFO", "_FLAGS", "_FIRMWARE"):
        monkeypatch.setattr(microcode, name, str(tmp_path / name))

    def node(cpuinfo, files=None, flags="0x10\n"):
        (tmp_path / "_CPUINFO").write_text(f"processor\t: 0\n{cpuinfo}\nprocessor\t: 1\nmicrocode\t: 0x1\n")
        (tmp_path / "_FLAGS").write_text(flags)
        for name, content in (files or {}).items():
            path = tmp_path / "_FIRMWARE" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return microcode.look()

    return node


@pytest.mark.parametrize(
    ("updates", "available", "is_newer"),
    [
        ([update(0x2B000603, 0x87), update(0x2B000643, 0x10)], "0x2b000643", True),
        ([update(0x2B000571, 0x10)], "0x2b000571", False),
        ([update(0x2B000461, 0x10)], "0x2b000461", False),
        # For other platforms.
        ([update(0x2B000603, 0x87)], "", False),
        ([update(0x2B000603, 0)], "0x2b000603", True),
        ([], "", False),
    ],
)
def test_intel(node, updates, available, is_newer):
    found = node(INTEL, {"intel-ucode/06-8f-08": b"".join(updates), "intel-ucode/06-8f-07": update(0x7FFFFFFF, 0x10)})
    assert found == {"running": "0x2b000571", "available": available, "is_newer": is_newer}


def test_an_update_of_intel_that_does_not_say_its_size_has_2048_bytes():
    first = struct.pack("<9I12x", 1, 5, 0, 0, 0, 1, 1, 0, 0).ljust(2048, b"\1")
    assert list(microcode.intel(first + update(7, 1), 1)) == [5, 7]


@pytest.mark.parametrize(
    ("entries", "patches", "available", "is_newer"),
    [
        ([(AMD_SIGNATURE, 0xA111)], [(0xA10114C, 0xA111), (0xA101248, 0xA112)], "0xa10114c", True),
        ([(0x00A10F12, 0xA112), (AMD_SIGNATURE, 0xA111)], [(0xA101144, 0xA111)], "0xa101144", False),
        ([(0x00A10F12, 0xA112)], [(0xA101248, 0xA112)], "", False),
    ],
)
def test_amd(node, entries, patches, available, is_newer):
    found = node(AMD, {"amd-ucode/microcode_amd_fam19h.bin": container(entries, patches)})
    assert found == {"running": "0xa101144", "available": available, "is_newer": is_newer}


@pytest.mark.parametrize("cpuinfo", ["", INTEL.replace("fpu", "fpu hypervisor"), INTEL.replace("0x2b", "zz")])
def test_what_is_not_known_is_not_newer(node, cpuinfo):
    found = node(cpuinfo, {"intel-ucode/06-8f-08": update(0x7FFFFFFF, 0x10)})
    assert found == {"running": "", "available": "", "is_newer": False}


def test_no_file_makes_it_fail_or_run_for_ever(node):
    good = {"intel-ucode/06-8f-08": update(0x2B000603, 0x10) * 3}
    good["amd-ucode/microcode_amd_fam19h.bin"] = container([(AMD_SIGNATURE, 0xA111)], [(0xA10114C, 0xA111)] * 3)
    chance = random.Random(7)
    for _round in range(300):
        broken = {name: bytearray(content) for name, content in good.items()}
        for content in broken.values():
            for _byte in range(4):
                content[chance.randrange(len(content))] = chance.choice((0, 1, 255, chance.randrange(256)))
            del content[chance.randrange(len(content)) :]
        for cpuinfo in (INTEL, AMD):
            assert set(node(cpuinfo, broken)) == {"running", "available", "is_newer"}
