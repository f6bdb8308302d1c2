"""More TCP connections than CRIU can lock by itself, each with something to read"""

import socket

NUMBER = 1200
SERVICE = "LimitNOFILE=8192"


def program():
    listener = socket.create_server(("127.0.0.1", 5035), backlog=NUMBER)
    pairs = []
    for number in range(NUMBER):
        client = socket.create_connection(("127.0.0.1", 5035))
        pairs.append((client, listener.accept()[0]))
        client.sendall(b"%d" % number)

    def observe():
        right = 0
        for number, (client, server) in enumerate(pairs):
            server.settimeout(5)
            right += server.recv(64) == b"%d" % number
            client.sendall(b"%d" % number)  # for the next time
        return {"connections": right}

    return observe
