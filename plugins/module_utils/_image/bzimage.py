# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A distribution's bzImage: its setup header, and the compressed kernel in it.

Offsets are those of the boot protocol (Documentation/arch/x86/boot.rst).
"""

from __future__ import annotations

import ctypes
import lzma
import struct
from dataclasses import dataclass

from .._errors import KupError

SETUP_SECTS = 0x1F1
SYSSIZE = 0x1F4
BOOT_FLAG = 0x1FE
PROTOCOL = 0x206
KERNEL_VERSION = 0x20E
LOADFLAGS = 0x211
KERNEL_ALIGNMENT = 0x230
XLOADFLAGS = 0x236
PAYLOAD_OFFSET = 0x248
PAYLOAD_LENGTH = 0x24C
INIT_SIZE = 0x260
HANDOVER_OFFSET = 0x264
KERNEL_INFO_OFFSET = 0x268

XLF_KERNEL_64 = 1 << 0
XLF_CAN_BE_LOADED_ABOVE_4G = 1 << 1
XLF_EFI_HANDOVER = 1 << 2 | 1 << 3
# Bit 5 says that the decompressor copes with 5-level tables, this one that the kernel itself can use them.
XLF_5LEVEL_ENABLED = 1 << 6

# Protocol 2.15 is what 5.10 speaks; older images lack fields that are read here.
OLDEST_PROTOCOL = 0x20F

# A kernel has 1 GiB of address space: what claims to be larger is none.
LARGEST_KERNEL = 512 << 20
LARGEST_IMAGE = 256 << 20

# Every block of LZ4's legacy format but the last unpacks to this size.
_LZ4_BLOCK = 8 << 20


@dataclass(frozen=True)
class BzImage:
    """One image.

    :ivar setup: boot sector and real-mode code, with the setup header.
    :ivar version: what the image calls itself, e.g. ``6.12.9-amd64 (…) #1 SMP …``.
    :ivar compression: ``lz4``, ``xz`` or ``zstd``.
    :ivar kernel: the unpacked vmlinux, followed by its relocations.
    """

    setup: bytes
    version: str
    compression: str
    kernel: bytes

    @property
    def release(self):
        """The release, as ``uname -r`` prints it."""
        return self.version.split(" ", 1)[0]

    @property
    def five_level(self):
        """Whether the kernel can be entered with 5-level page tables."""
        return bool(field(self.setup, "<H", XLOADFLAGS) & XLF_5LEVEL_ENABLED)


def field(setup, kind, offset):
    """One field of the setup header."""
    return struct.unpack_from(kind, setup, offset)[0]


def parse(image):
    """Take ``image`` (bytes) apart and unpack the kernel in it.

    :raises KupError: not a relocatable 64-bit bzImage of protocol 2.15 or later, or its payload is damaged.
    """
    if len(image) > LARGEST_IMAGE:
        raise KupError(f"The image has {len(image)} bytes, expected a kernel of at most {LARGEST_IMAGE}.")
    if len(image) < 0x1000 or image[0x202:0x206] != b"HdrS" or field(image, "<H", BOOT_FLAG) != 0xAA55:
        raise KupError(
            "The file has no setup header, expected a bzImage for x86; take the vmlinuz of a kernel package."
        )
    protocol, flags = field(image, "<H", PROTOCOL), field(image, "<H", XLOADFLAGS)
    if protocol < OLDEST_PROTOCOL:
        raise KupError(f"The image speaks boot protocol {protocol >> 8}.{protocol & 255}, expected 2.15 or later.")
    if not flags & XLF_KERNEL_64 or not flags & XLF_CAN_BE_LOADED_ABOVE_4G:
        raise KupError(f"The image has xloadflags {flags:#x}, expected a 64-bit kernel that can be loaded anywhere.")
    setup_size = ((image[SETUP_SECTS] or 4) + 1) * 512
    start = setup_size + field(image, "<I", PAYLOAD_OFFSET)
    end = start + field(image, "<I", PAYLOAD_LENGTH)
    if not setup_size <= start < end - 8 or end > len(image):
        raise KupError(
            f"The image's payload is said to lie at {start}..{end}, expected a place in its {len(image)} bytes."
        )
    compression, kernel = _unpack(image[start:end])
    return BzImage(image[:setup_size], _version(image[:setup_size]), compression, kernel)


def _version(setup):
    start = field(setup, "<H", KERNEL_VERSION) + 0x200
    text = setup[start : start + 256].split(b"\0", 1)[0]
    if not text or not text.isascii():
        raise KupError("The image does not say its version, expected a text at the place that its header names.")
    return text.decode("ascii")


def _unpack(payload):
    size = struct.unpack("<I", payload[-4:])[0]
    if not 1 << 20 <= size <= LARGEST_KERNEL:
        raise KupError(f"The payload claims {size} bytes unpacked, expected 1 to {LARGEST_KERNEL >> 20} MiB.")
    for magic, name, unpack in _FORMATS:
        if payload.startswith(magic):
            kernel = unpack(payload[:-4], size)
            if len(kernel) != size:
                raise KupError(
                    f"The {name} payload unpacks to {len(kernel)} bytes, expected {size}; the file is damaged."
                )
            return name, kernel
    raise KupError(f"The payload begins with {payload[:6].hex()}, expected LZ4 (legacy), XZ or zstd.")


def _xz(packed, size):
    try:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(packed, size)
    except lzma.LZMAError as error:
        raise KupError(f"The XZ payload is damaged ({error}).") from error


def _library(name):
    # Both libraries are there wherever apt and systemd are: nothing has to be installed for them.
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise KupError(f"The library {name} cannot be loaded ({error}); install its package.") from error


def _zstd(packed, size):
    decompress = _library("libzstd.so.1").ZSTD_decompress
    decompress.restype = ctypes.c_size_t
    decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    kernel = ctypes.create_string_buffer(size)
    # An error is a size near the top of size_t: the caller compares.
    done = decompress(kernel, size, packed, len(packed))
    return kernel.raw if done == size else b""


def _lz4(packed, size):
    decompress = _library("liblz4.so.1").LZ4_decompress_safe
    decompress.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    block = ctypes.create_string_buffer(_LZ4_BLOCK)
    kernel, at = bytearray(), 4
    while at + 4 <= len(packed) and len(kernel) < size:
        length = struct.unpack_from("<I", packed, at)[0]
        chunk = packed[at + 4 : at + 4 + length]
        done = decompress(chunk, block, len(chunk), _LZ4_BLOCK) if len(chunk) == length else -1
        if done <= 0:
            return b""
        kernel += memoryview(block)[:done]
        at += 4 + length
    return bytes(kernel)


_FORMATS = (
    (bytes.fromhex("02214c18"), "lz4", _lz4),
    (bytes.fromhex("fd377a585a00"), "xz", _xz),
    (bytes.fromhex("28b52ffd"), "zstd", _zstd),
)
