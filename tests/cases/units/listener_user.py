"""Whom a new client of a unix listener is told, where the service is not root"""

import grp
import os
import pwd
import socket
import struct
import threading

SERVICE = "User=daemon\nRuntimeDirectory=case-listener-user"
PATH = "/run/case-listener-user/socket"
MUST = {"users": ["daemon", "daemon"]}


def told(path):
    """Return the name of the user and of the group of who listens at PATH."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        _pid, user, group = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return [pwd.getpwuid(user).pw_name, grp.getgrgid(group).gr_name]


def accept(listener):
    while True:
        listener.accept()[0].close()


def program():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(PATH)
    listener.listen(8)
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
    return lambda: {"users": told(PATH), "own": os.geteuid()}


def look():
    return {"told": told(PATH)}
