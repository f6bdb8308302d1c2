"""Keep a connection to the memcached of the host ADDRESS until it ends, and ask something all the time: who is silent is not told."""

import contextlib
import socket
import sys
import time

with socket.create_connection((sys.argv[1], 11211), timeout=600) as talk, contextlib.suppress(ConnectionError):
    answered = b"VERSION"
    while answered:
        talk.sendall(b"version\r\n")
        answered = talk.recv(100)
        time.sleep(0.5)
