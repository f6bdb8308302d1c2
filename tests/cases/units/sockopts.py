"""Options of TCP and UDP sockets, and a congestion control that sysctl.d chooses"""

import socket

FILES = {
    "/etc/modules-load.d/case-sockopts.conf": "tcp_bbr\n",
    "/etc/sysctl.d/90-case-sockopts.conf": "net.ipv4.tcp_congestion_control = bbr\n",
}
SETUP = "modprobe tcp_bbr; sysctl -qw net.ipv4.tcp_congestion_control=bbr"
MUST = {"TCP_CONGESTION": b"bbr".hex()}
IP, SOL, TCP = socket.IPPROTO_IP, socket.SOL_SOCKET, socket.IPPROTO_TCP
# name: level, option, value
STREAM = {
    "TCP_DEFER_ACCEPT": (TCP, 9, 3), "TCP_USER_TIMEOUT": (TCP, 18, 30000), "TCP_FASTOPEN": (TCP, 23, 16),
    "TCP_NOTSENT_LOWAT": (TCP, 25, 16384), "TCP_CONGESTION": (TCP, 13, None), "SO_MAX_PACING_RATE": (SOL, 47, 1000000),
    "IP_TRANSPARENT": (IP, 19, 1), "IP_MINTTL": (IP, 21, 200), "TCP_SYNCNT": (TCP, 7, 4), "TCP_WINDOW_CLAMP": (TCP, 10, 65536),
}  # fmt: skip
DATAGRAM = {
    "IP_MTU_DISCOVER": (IP, 10, 3), "IP_RECVTTL": (IP, 12, 1), "IP_RECVERR": (IP, 11, 1), "IP_PKTINFO": (IP, 8, 1),
    "IP_MULTICAST_TTL": (IP, 33, 9), "SO_TIMESTAMPNS": (SOL, 35, 1),
}  # fmt: skip


def program():
    sockets = (socket.socket(), STREAM), (socket.socket(type=socket.SOCK_DGRAM), DATAGRAM)
    for one, options in sockets:
        for level, option, value in options.values():
            if value is not None:
                one.setsockopt(level, option, value)
        one.bind(("127.0.0.1", 5031))
    sockets[0][0].listen(4000)

    def observe():
        return {
            name: one.getsockopt(level, option, 16 if value is None else 4).rstrip(b"\0").hex()
            for one, options in sockets
            for name, (level, option, value) in options.items()
        }

    return observe
