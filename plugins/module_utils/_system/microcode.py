# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Microcode: whether the node's firmware files have a newer revision for its processor than the one that runs.

The formats: arch/x86/kernel/cpu/microcode/intel.c and amd.c. A virtual machine has the microcode of its host.
"""

from __future__ import annotations

import os
import struct

from .._files import read_text

_CPUINFO = "/proc/cpuinfo"
_FLAGS = "/sys/devices/system/cpu/cpu0/microcode/processor_flags"
_FIRMWARE = "/lib/firmware"
_LARGEST = 64 << 20  # bytes; the largest file has some 4 MiB
_INTEL = struct.Struct(
    "<9I12x"
)  # header version, revision, date, signature, sum, loader, platforms, size of data, size
_INTEL_SIZE = 2048  # of an update that does not say it
_AMD_MAGIC, _AMD_TABLE, _AMD_PATCH = 0x00414D44, 0, 1
_AMD_ENTRY = struct.Struct("<3I2H")  # signature, errata (2), equivalent id
_AMD_HEADER = struct.Struct("<2I16xH")  # date, revision, equivalent id


def look():
    """Dict with ``running`` and ``available``, revisions as texts such as ``0x2b000603`` (empty: not known), and ``is_newer``."""
    about = _processor()
    running = _number(about.get("microcode", ""), 16)
    if running is None or "hypervisor" in about.get("flags", "").split():
        return {"running": "", "available": "", "is_newer": False}
    available = max(_revisions(about), default=None)
    return {
        "running": hex(running),
        "available": "" if available is None else hex(available),
        "is_newer": available is not None and available > running,
    }


def _processor():
    """What /proc/cpuinfo says of the first processor."""
    first = read_text(_CPUINFO, "").partition("\n\n")[0]
    pairs = (line.partition(":")[::2] for line in first.split("\n"))
    return {key.strip(): value.strip() for key, value in pairs}


def _revisions(about):
    """Revisions of all updates for this processor in the firmware files: an iterable, empty where there is none or a file is broken."""
    numbers = [_number(about.get(name, ""), 10) for name in ("cpu family", "model", "stepping")]
    if None in numbers:
        return []
    try:
        if about.get("vendor_id") == "GenuineIntel":
            name = "-".join(f"{number:02x}" for number in numbers)
            return list(intel(_content(f"intel-ucode/{name}"), _number(read_text(_FLAGS, ""), 16) or 0))
        if about.get("vendor_id") == "AuthenticAMD" and numbers[0] >= 0x15:
            return list(amd(_content(f"amd-ucode/microcode_amd_fam{numbers[0]:02x}h.bin"), _signature(*numbers)))
    except struct.error:
        pass
    return []


def _number(text, base):
    try:
        return int(text, base)
    except ValueError:
        return None


def _content(name):
    path = f"{_FIRMWARE}/{name}"
    if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST:
        return b""
    with open(path, "rb") as stream:
        return stream.read()


def intel(content, platform):
    """Yield the revisions in a file of intel-ucode, for the ``platform`` (a mask with one bit; 0: not known, then none)."""
    place = 0
    while place + _INTEL.size <= len(content):
        _version, revision, _date, _signature, _sum, _loader, platforms, _data, size = _INTEL.unpack_from(
            content, place
        )
        if not platforms or platforms & platform:
            yield revision
        place += max(size or _INTEL_SIZE, _INTEL.size)


def amd(content, signature):
    """Yield the revisions in a container of amd-ucode for the processor with this ``signature`` (CPUID 1, EAX)."""
    if len(content) < 4 or struct.unpack_from("<I", content)[0] != _AMD_MAGIC:
        return
    place, equivalent = 4, None
    while place + 8 <= len(content):
        kind, size = struct.unpack_from("<2I", content, place)
        place += 8
        if kind == _AMD_TABLE:
            table = content[place : place + size - size % _AMD_ENTRY.size]
            equivalent = {entry[0]: entry[3] for entry in _AMD_ENTRY.iter_unpack(table)}.get(signature)
        elif kind == _AMD_PATCH and equivalent:
            _date, revision, processor = _AMD_HEADER.unpack_from(content, place)
            if processor == equivalent:
                yield revision
        place += size


def _signature(family, model, stepping):
    return (family - 0xF) << 20 | (model >> 4) << 16 | 0xF << 8 | (model & 0xF) << 4 | stepping
