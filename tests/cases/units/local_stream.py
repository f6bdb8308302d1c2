"""A stream to a process that is not carried, as a client of a local database or of D-Bus has"""

import contextlib
import os
import socket
import time

REFUSAL = "/run/peer-local-stream"
UNSEEN = True
PATH = "/run/peer-local-stream"


def peer():
    """Answer whoever connects, and keep the connection."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(PATH)
    server = socket.socket(socket.AF_UNIX)
    server.bind(PATH)
    server.listen(8)
    kept = []
    while True:
        kept.append(server.accept()[0])


def program():
    stream = socket.socket(socket.AF_UNIX)
    for _number in range(50):
        with contextlib.suppress(OSError):
            stream.connect(PATH)
            break
        time.sleep(0.2)
    return lambda: {"peer": stream.getpeername()}
