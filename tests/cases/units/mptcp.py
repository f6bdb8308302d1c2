"""A listener of MPTCP, as Go makes it since 1.24"""

import socket

REFUSAL = "MPTCP"
UNSEEN = True
ALONE = True


def program():
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
    listener.bind(("0.0.0.0", 5033))
    listener.listen(8)
    return lambda: {"protocol": listener.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL)}


def look():
    try:
        socket.create_connection(("127.0.0.1", 5033), 5).close()
        return {"connects": True}
    except OSError as error:
        return {"connects": str(error)}
