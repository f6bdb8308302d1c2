"""A non-blocking connection in the run's event loop: it asks, hands over answers, and says once why it is lost."""

import errno
import os
import selectors
import socket

from . import meta

_READ = selectors.EVENT_READ
_WRITE = selectors.EVENT_WRITE
_RECEIVE_BYTES = 64 << 10

# Kinds of loss. RESET is what an update must never cause: the peer's kernel no longer knows the connection, or the
# peer closed it.
RESET = "reset"
_KINDS = {
    errno.ECONNRESET: RESET,
    errno.EPIPE: RESET,
    errno.ECONNREFUSED: "refused",
    errno.ETIMEDOUT: "timeout",
    errno.EHOSTUNREACH: "unreachable",
    errno.ENETUNREACH: "unreachable",
}


class Connection:
    """One TCP connection to a node.

    `on_answer(line, value)` is called for each answer (see meta.parse), `on_lost(kind, why)` once, when the connection
    has ended for another reason than `close()`; kind is "reset", "refused", "timeout", "unreachable" or "other".
    """

    def __init__(self, selector, address, on_answer, on_lost):
        self._selector = selector
        self._on_answer = on_answer
        self._on_lost = on_lost
        self._in = bytearray()
        self._out = b""
        self._awaited = 0
        self._connected = False
        self._socket = socket.socket(address.family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._watched = _WRITE
        selector.register(self._socket, _WRITE, self)
        self._failed_at_once = self._socket.connect_ex(address.sockaddr)
        if self._failed_at_once == errno.EINPROGRESS:
            self._failed_at_once = 0

    @property
    def open(self):
        """Whether the connection has neither been lost nor closed (it may still be connecting)."""
        return self._socket is not None

    @property
    def local_port(self):
        """The port on the client's side, for finding the connection in a packet trace; None once it is gone."""
        return self._socket.getsockname()[1] if self._socket else None

    def ask(self, request):
        """Send `request` (bytes); its answer comes through `on_answer`."""
        self._awaited += 1
        self._out += request
        if self._failed_at_once:
            self._lose_by(self._failed_at_once)
        elif self._connected:
            self._guarded(self._flush)

    def ready(self, mask):
        """Handle what the selector reported."""
        if not self._socket:
            return
        if not self._connected:
            error = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error:
                self._lose_by(error)
                return
            self._connected = True
            mask |= _WRITE
        if mask & _WRITE:
            self._guarded(self._flush)
        if mask & _READ and self._socket:
            self._guarded(self._receive)

    def close(self):
        """Close the connection, if it is still there; no callback comes from it any more."""
        if self._socket:
            self._selector.unregister(self._socket)
            self._socket.close()
            self._socket = None

    def _guarded(self, action):
        try:
            action()
        except BlockingIOError:
            pass
        except OSError as error:
            self._lose_by(error.errno)
        except meta.ProtocolError as error:
            self._lose("other", str(error))

    def _flush(self):
        try:
            while self._out:
                sent = self._socket.send(self._out)
                self._out = self._out[sent:]
        finally:
            # The answer is awaited in any case: a reset must be noticed while a request is stuck half sent.
            self._watch(_READ | _WRITE if self._out else _READ)

    def _receive(self):
        data = self._socket.recv(_RECEIVE_BYTES)
        if not data:
            self._lose(RESET, "the node closed it")
            return
        self._in += data
        while self._in and self._socket and (answer := meta.parse(self._in)):
            line, value, used = answer
            del self._in[:used]
            if not self._awaited:
                self._lose("other", f"the node sent {line[:40]!r}, which nobody had asked for")
                return
            self._awaited -= 1
            self._on_answer(line, value)

    def _watch(self, events):
        if self._socket and events != self._watched:
            self._watched = events
            self._selector.modify(self._socket, events, self)

    def _lose_by(self, number):
        self._lose(_KINDS.get(number, "other"), os.strerror(number))

    def _lose(self, kind, why):
        self.close()
        self._on_lost(kind, why)
