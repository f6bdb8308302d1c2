"""Any unit, beside an abstract unix socket of another process with a blank in its name"""

import socket

NAME = "\0case abstract socket"


def peer():
    server = socket.socket(socket.AF_UNIX)
    server.bind(NAME)
    server.listen(8)
    kept = []
    while True:
        kept.append(server.accept()[0])


def program():
    return dict
