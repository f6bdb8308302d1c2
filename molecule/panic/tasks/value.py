"""On a node: give memcached a value (set), or fail unless it still has it (get)."""

import socket
import sys

STEPS = {
    "set": (b"set panic 0 0 5\r\nvalue\r\n", b"STORED\r\n"),
    "get": (b"get panic\r\n", b"VALUE panic 0 5\r\nvalue\r\nEND\r\n"),
}

question, expected = STEPS[sys.argv[1]]
with socket.create_connection(("127.0.0.1", 11211), timeout=10) as talk:
    talk.sendall(question)
    answer = b""
    while len(answer) < len(expected) and (part := talk.recv(64)):
        answer += part
if answer != expected:
    sys.exit(f"memcached said {answer!r}, expected {expected!r}.")
