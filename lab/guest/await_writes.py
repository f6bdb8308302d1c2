"""On a node, as a gate's command: wait until memcached has taken writes, then pass on a kernel of the series in the first argument.

A client whose packets were dropped for a minute retransmits within the next one: a fixed wait proves nothing.
"""

import os
import re
import socket
import sys
import time

WRITES = 20
PATIENCE = 150


def writes():
    """Return how many writes memcached has taken in its life."""
    with socket.create_connection(("127.0.0.1", 11211), timeout=10) as talk:
        talk.sendall(b"stats\r\n")
        answer = b""
        while not answer.endswith(b"END\r\n"):
            answer += talk.recv(65536)
    return int(re.search(rb"STAT cmd_set (\d+)", answer)[1])


before, deadline = writes(), time.monotonic() + PATIENCE
while writes() < before + WRITES:
    if time.monotonic() > deadline:
        sys.exit(f"fewer than {WRITES} writes within {PATIENCE} s")
    time.sleep(0.5)
if not os.uname().release.startswith(sys.argv[1]):
    sys.exit(f"the kernel is {os.uname().release}, expected one of {sys.argv[1]}")
