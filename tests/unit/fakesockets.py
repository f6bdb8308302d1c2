"""Sockets as /proc/net lists them."""

import struct

from ansible_collections.kup.fleet.plugins.module_utils._system import sockets as inet_sockets


def word(text):
    """An address as /proc/net prints it, on a machine of either byte order."""
    return words(bytes(int(part) for part in text.split(".")))


def words(packed):
    return "".join(f"{each:08X}" for each in struct.unpack(f"={len(packed) // 4}I", packed))


def socket(protocol="tcp", local="127.0.0.1:11211", remote="0.0.0.0:0", state="0A", inode=7, six=None):
    def end(text, packed):
        address, _colon, port = text.rpartition(":")
        return f"{words(packed) if packed else word(address)}:{int(port):04X}"

    ends = six or (None, None)
    row = (
        f"0: {end(local, ends[0])} {end(remote, ends[1])} {state} 00000000:00000000 00:00000000 00000000 0 0 {inode} 1"
    )
    return inet_sockets.Socket(protocol, row)
