"""On a node: make memcached write to its standard error, which is the journal."""

import socket

ADDRESS = ("127.0.0.1", 11211)

with socket.create_connection(ADDRESS, timeout=10) as talk:
    for level in (2, 0):
        talk.sendall(f"verbosity {level}\r\n".encode())
        talk.recv(64)
        # With verbosity 2 memcached says something about each new connection.
        with socket.create_connection(ADDRESS, timeout=10) as other:
            other.sendall(b"version\r\n")
            other.recv(64)
