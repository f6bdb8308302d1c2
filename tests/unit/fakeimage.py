"""CRIU's image of a thread, as far as tests need it."""

import struct

MAGICS = struct.pack("<II", 0x54564319, 0x55053847)


def varint(value):
    text = b""
    while value > 0x7F:
        text, value = text + bytes([value & 0x7F | 0x80]), value >> 7
    return text + bytes([value])


def field(number, value):
    """A field of a message: a number, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def core(*fields):
    """An image of these fields of core_entry (images/core.proto)."""
    message = b"".join(fields)
    return MAGICS + struct.pack("<I", len(message)) + message
