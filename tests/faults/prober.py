"""Connects to a port all the time, and tells the longest time in which it could not.

prober.py HOST PORT     until the end of standard input; then a number, in seconds
"""

import contextlib
import select
import socket
import sys
import time

INTERVAL = 0.25
# The packets of a node that is away are lost, or held: another connection meets it sooner than a retransmission.
PATIENCE = 1


def main():
    where = (sys.argv[1], int(sys.argv[2]))
    last, longest = time.monotonic(), 0.0
    while not select.select([sys.stdin], [], [], INTERVAL)[0]:
        with contextlib.suppress(OSError):
            socket.create_connection(where, timeout=PATIENCE).close()
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
    print(f"{max(longest, time.monotonic() - last):.1f}")


if __name__ == "__main__":
    main()
