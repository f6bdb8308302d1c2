"""A blocking connection for fill and verify: many requests under way at once, answers in order, bounded waiting."""

import socket

from . import meta
from .errors import LoadError

# Two batches are under way at a time. A batch of reads (some 10 KiB of requests) and the answers to a batch of writes
# (a few bytes each) fit in any socket buffer, so neither side can block on sending while the other does the same.
BATCH_BYTES = 256 << 10
BATCH_REQUESTS = 512


class Pipeline:
    """A connection on which answers are read in the order of the requests.

    Every wait is bounded by `timeout` seconds without a byte of progress; all failures are LoadError.
    """

    def __init__(self, address, timeout):
        self._address = address
        self._timeout = timeout
        with self._explained("connect"):
            self._socket = socket.socket(address.family, socket.SOCK_STREAM)
            self._socket.settimeout(timeout)
            self._socket.connect(address.sockaddr)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._socket.makefile("rb", buffering=BATCH_BYTES)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._answers.close()
        self._socket.close()

    def exchange(self, requests, size):
        """Send `requests` (iterable of bytes, values of `size` bytes); yield (line, value) of each answer, in order."""
        per_batch = max(1, min(BATCH_REQUESTS, BATCH_BYTES // size))
        due = 0
        batch = []
        for request in requests:
            batch.append(request)
            if len(batch) < per_batch:
                continue
            self._send(b"".join(batch))
            # The batch before this one is read while the node works on this one.
            yield from self._receive(due)
            due, batch = len(batch), []
        self._send(b"".join(batch))
        yield from self._receive(due + len(batch))

    def stats(self, which=""):
        """Return memcached's `stats` (or `stats <which>`) as {name: text}."""
        self._send(f"stats {which}".strip().encode() + b"\r\n")
        numbers = {}
        while (line := self._line()) != b"END":
            words = line.decode("ascii", "replace").split(maxsplit=2)
            if len(words) < 2 or words[0] != "STAT":
                raise LoadError(f"{self._address.text} answered {line!r} to stats, not STAT lines; is it memcached?")
            numbers[words[1]] = words[2] if len(words) > 2 else ""
        return numbers

    def _send(self, data):
        if data:
            with self._explained("take requests"):
                self._socket.sendall(data)

    def _receive(self, count):
        for _index in range(count):
            line = self._line()
            if not line.startswith(meta.VALUE + b" "):
                yield line, None
                continue
            with self._explained("answer"):
                length = meta.value_length(line)
                data = self._answers.read(length + 2)
            if len(data) < length + 2 or not data.endswith(b"\r\n"):
                raise LoadError(f"{self._address.text} cut a value of {length} bytes short; see whether memcached died")
            yield line, data[:-2]

    def _line(self):
        with self._explained("answer"):
            line = self._answers.readline(BATCH_BYTES)
        if not line.endswith(b"\r\n"):
            raise LoadError(f"{self._address.text} closed the connection; see whether memcached died")
        return line[:-2]

    def _explained(self, what):
        return _Explained(self._address.text, what, self._timeout)


class _Explained:
    """Turns a socket's or the protocol's error inside a `with` block into a LoadError that names the peer."""

    def __init__(self, peer, what, timeout):
        self._peer, self._what, self._timeout = peer, what, timeout

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, TimeoutError):
            raise LoadError(
                f"{self._peer} did not {self._what} within {self._timeout:g} s; see whether memcached runs there"
            ) from error
        if isinstance(error, OSError):
            raise LoadError(
                f"{self._peer} did not {self._what} ({error.strerror}); see whether memcached listens there"
            ) from error
        if isinstance(error, meta.ProtocolError):
            raise LoadError(f"{self._peer} does not speak memcached's meta protocol ({error})") from error
