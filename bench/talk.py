"""An application whose clients are in all states that an outage can meet.

    talk.py

On TCP port 7071 the line "ask" is answered at once, "work" after some seconds, and after "stream" there is a line again and again. Each line
has a number that counts the lines of this connection.
"""

import contextlib
import heapq
import selectors
import socket
import time

PORT = 7071
# Seconds. With hundreds of connections, so that an emulated processor has time to spare: what waits for an application is no outage.
WORK, STREAM = 4.0, 2.0


class Server:
    def __init__(self):
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server(("", PORT), backlog=1024)
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._sent = {}
        self._due = []  # (when, number, connection, seconds until the next line; 0: none)
        self._number = 0

    def serve(self):
        while True:
            wait = max(self._due[0][0] - time.monotonic(), 0) if self._due else None
            for key, _events in self._selector.select(wait):
                if key.fileobj is self._listener:
                    self._accept_all()
                else:
                    self._read(key.fileobj)
            while self._due and self._due[0][0] <= time.monotonic():
                _when, _number, connection, again = heapq.heappop(self._due)
                if self._say(connection) and again:
                    self._later(connection, again, again)

    def _accept_all(self):
        """One at a time would be too few in a round that is long, and new connections would wait for ever longer."""
        with contextlib.suppress(BlockingIOError):
            while True:
                connection = self._listener.accept()[0]
                self._sent[connection] = 0
                self._selector.register(connection, selectors.EVENT_READ)

    def _read(self, connection):
        try:
            # A line comes whole, and there is one at a time.
            said = connection.recv(64)
        except ConnectionError:
            said = b""
        if said == b"ask\n":
            self._say(connection)
        elif said == b"work\n":
            self._later(connection, WORK, 0)
        elif said == b"stream\n":
            self._later(connection, STREAM, STREAM)
        else:
            self._close(connection)

    def _later(self, connection, seconds, again):
        self._number += 1
        heapq.heappush(self._due, (time.monotonic() + seconds, self._number, connection, again))

    def _say(self, connection):
        if connection not in self._sent:
            return False
        try:
            connection.sendall(b"%d\n" % self._sent[connection])
        except ConnectionError:
            self._close(connection)
            return False
        self._sent[connection] += 1
        return True

    def _close(self, connection):
        if self._sent.pop(connection, None) is not None:
            self._selector.unregister(connection)
            connection.close()


if __name__ == "__main__":
    Server().serve()
