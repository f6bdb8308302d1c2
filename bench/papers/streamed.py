"""Takes a stream of known bytes from a web server, and tells the longest gap in it.

python3 -m bench.papers.streamed HOST PATH     prints "ready" when it flows; goes on until a line on standard input; then a line of JSON
"""

import hashlib
import json
import select
import socket
import sys
import time

#: The stream: a digest of the number of each piece, again and again.
PIECES, PIECE = 6000, 8192


def piece(number):
    return (hashlib.sha512(str(number).encode()).hexdigest() * (PIECE // 128)).encode()


class Stream:
    def __init__(self, connection):
        self._socket, self._rest, self._number, self._last = connection, b"", 0, time.monotonic()
        self.said = {"gap_s": 0.0, "bytes": 0, "wrong": 0, "ended": False}

    def take(self):
        """Take what has come, and compare it."""
        data = self._socket.recv(1 << 16)
        now = time.monotonic()
        self.said["gap_s"] = max(self.said["gap_s"], round(now - self._last, 3))
        self.said["bytes"] += len(data)
        self.said["ended"] |= not data
        self._last, self._rest = now, self._rest + data
        while len(self._rest) >= PIECE:
            self.said["wrong"] += self._rest[:PIECE] != piece(self._number)
            self._rest, self._number = self._rest[PIECE:], self._number + 1


def main():
    host, path = sys.argv[1:]
    connection = socket.create_connection((host, 80))
    # In HTTP/1.0 the body is as the script makes it, and ends with the connection.
    connection.sendall(f"GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += connection.recv(1) or sys.exit("streamed: the server closed the connection")
    stream = Stream(connection)
    print("ready", flush=True)
    while not stream.said["ended"]:
        readable = select.select([connection, sys.stdin], [], [])[0]
        if sys.stdin in readable:
            break
        stream.take()
    else:
        sys.stdin.readline()
    print(json.dumps(stream.said))


if __name__ == "__main__":
    main()
