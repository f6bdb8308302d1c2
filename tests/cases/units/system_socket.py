"""A stream to a process of the system that is not carried, as a D-Bus client has"""

import socket

REFUSAL = "/run/systemd/private"
UNSEEN = True


def program():
    stream = socket.socket(socket.AF_UNIX)
    stream.connect("/run/systemd/private")
    return lambda: {"peer": stream.getpeername()}
