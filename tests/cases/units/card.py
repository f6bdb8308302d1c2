"""A listener, a multicast group and a packet socket of a network card, and no address of it"""

import os
import socket
import struct

# Another unit's address would bring the card up.
ALONE = True
MUST = {"member": True}


def card():
    return next(
        name for name in sorted(os.listdir("/sys/class/net")) if os.path.exists(f"/sys/class/net/{name}/device")
    )


def members(name):
    """Groups of the interface, as the kernel prints them."""
    found, device = set(), ""
    with open("/proc/net/igmp", encoding="ascii") as rows:
        for row in rows:
            if row[:1].isdigit():
                device = row.split()[1]
            elif device == name:
                found.add(row.split()[0])
    return found


def program():
    name = card()
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, name.encode())
    listener.bind(("", 5021))
    listener.listen(8)
    member = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    member.bind(("", 5022))
    group = socket.inet_aton("239.9.9.8") + bytes(4) + struct.pack("i", socket.if_nametoindex(name))
    member.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x88CC))
    packets.bind((name, 0x88CC))

    def observe():
        return {
            "device": listener.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16).rstrip(b"\0").decode(),
            "member": "080909EF" in members(name),
            "packets": packets.getsockname()[0],
            "held": len([member]),
        }

    return observe
