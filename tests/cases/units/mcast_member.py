"""A UDP socket that has joined a multicast group"""

import socket

GROUP, LOCAL = ("239.9.9.9", 5007), socket.inet_aton("127.0.0.1")
MUST = {"hears": True}


def program():
    member = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    member.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP[0]) + LOCAL)
    member.bind(("", GROUP[1]))
    member.settimeout(2)

    def observe():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, LOCAL)
            sender.sendto(b"x", GROUP)
        try:
            return {"hears": member.recv(9) == b"x"}
        except TimeoutError:
            return {"hears": False}

    return observe
