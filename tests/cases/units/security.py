"""A Landlock sandbox, and a socket pair that an unprivileged user made"""

import ctypes
import os
import socket
import struct

from service import libc, result

NOBODY = 65534
PATH = "/var/tmp/case-security"
REFUSAL = "Landlock|SO_PEERCRED"
MUST = {"writes": False, "peer": [NOBODY, NOBODY]}
WRITE_FILE, MAKE_FILE = 1 << 1, 1 << 8


def program():
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    one, other = socket.socketpair()
    os.seteuid(0)
    os.setegid(0)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    rules = libc.syscall(444, struct.pack("Q", WRITE_FILE | MAKE_FILE), ctypes.c_size_t(8), 0)
    restricted = result(libc.syscall(446, rules, 0))
    os.close(rules)

    def observe():
        try:
            os.close(os.open(PATH, os.O_CREAT | os.O_WRONLY))
            writes = True
        except PermissionError:
            writes = False
        credentials = one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return {
            "restricted": restricted,
            "writes": writes,
            "peer": list(struct.unpack("3i", credentials)[1:]),
            "open": other.fileno(),
        }

    return observe
