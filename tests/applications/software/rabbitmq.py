"""A message that is not acknowledged yet on an open channel, and epmd"""

import struct

UNITS = ("rabbitmq-server.service", "epmd.service")
PORTS = (5672,)
PACKAGES = ("rabbitmq-server",)
RELEASES = {"12": "", "13": ""}
FILES = {
    "/etc/rabbitmq/rabbitmq.conf": "loopback_users = none\n",
    # Debian's has a socket unit, which preflight refuses: epmd binds its port itself.
    "/etc/systemd/system/epmd.service": (
        "[Unit]\nAfter=network.target\n[Service]\nExecStart=/usr/bin/epmd\nUser=epmd\nGroup=epmd\n"
        "[Install]\nWantedBy=multi-user.target\n"
    ),
    "/etc/systemd/system/rabbitmq-server.service.d/epmd.conf": "[Unit]\nWants=epmd.service\nAfter=epmd.service\n",
}
SETUP = "systemctl stop rabbitmq-server epmd.service epmd.socket || true; systemctl mask -q epmd.socket"
# Of AMQP 0-9-1: class and method.
_START_OK, _TUNE_OK, _OPEN = (10, 11), (10, 31), (10, 40)
_CHANNEL_OPEN, _DECLARE, _PUBLISH, _GET, _GET_OK, _ACK = (20, 10), (50, 10), (60, 40), (60, 70), (60, 71), (60, 80)
_DECLARED = (50, 11)
_METHOD, _HEADER, _BODY = 1, 2, 3


def short(text):
    return bytes([len(text)]) + text


def long(text):
    return struct.pack(">I", len(text)) + text


class Connection:
    """A connection with one channel, without heartbeats."""

    def __init__(self, wire):
        self._wire = wire
        wire.send(b"AMQP\0\0\x09\x01")
        self._method(0)
        self._call(0, _START_OK, long(b"") + short(b"PLAIN") + long(b"\0guest\0guest") + short(b"en_US"))
        self._method(0)
        self._call(0, _TUNE_OK, struct.pack(">HIH", 1, 131072, 0))
        self._call(0, _OPEN, short(b"/") + b"\0\0")
        self._method(0)
        self._call(1, _CHANNEL_OPEN, b"\0")
        self._method(1)

    def _frame(self, kind, channel, payload):
        self._wire.send(struct.pack(">BHI", kind, channel, len(payload)) + payload + b"\xce")

    def _call(self, channel, method, arguments):
        self._frame(_METHOD, channel, struct.pack(">HH", *method) + arguments)

    def _read(self):
        kind, _channel, size = struct.unpack(">BHI", self._wire.take(7))
        payload = self._wire.take(size)
        self._wire.take(1)
        return kind, payload

    def _method(self, _channel):
        kind, payload = self._read()
        if kind != _METHOD:
            raise ValueError(f"a frame of kind {kind}, expected a method")
        return struct.unpack(">HH", payload[:4]), payload[4:]

    def declare(self, queue):
        """Declare a queue that is in memory only; return how many messages it has ready."""
        self._call(1, _DECLARE, b"\0\0" + short(queue) + b"\0" + long(b""))
        method, arguments = self._method(1)
        if method != _DECLARED:
            raise ValueError(f"{method} {arguments!r}")
        return struct.unpack(">I", arguments[1 + len(queue) :][:4])[0]

    def publish(self, queue, body):
        self._call(1, _PUBLISH, b"\0\0" + short(b"") + short(queue) + b"\0")
        self._frame(_HEADER, 1, struct.pack(">HHQH", 60, 0, len(body), 0))
        self._frame(_BODY, 1, body)

    def get(self, queue):
        """Return (delivery tag, body), None of an empty queue; nothing is acknowledged."""
        self._call(1, _GET, b"\0\0" + short(queue) + b"\0")
        method, arguments = self._method(1)
        if method != _GET_OK:
            return None
        self._read()
        return struct.unpack(">Q", arguments[:8])[0], self._read()[1]

    def acknowledge(self, tag):
        self._call(1, _ACK, struct.pack(">QB", tag, 0))


class Client:
    _QUEUE = b"of-lab"

    def __init__(self, connect):
        self._one, self._other = Connection(connect(PORTS[0])), Connection(connect(PORTS[0]))
        self._one.declare(self._QUEUE)

    def before(self):
        for number in range(20):
            self._one.publish(self._QUEUE, b"message %d" % number)
        self._one.declare(self._QUEUE)
        self._tag, self._body = self._one.get(self._QUEUE)

    def after(self):
        found = {"the other messages": (self._other.declare(self._QUEUE), 19)}
        self._one.acknowledge(self._tag)
        bodies = [(self._other.get(self._QUEUE) or (0, b""))[1] for _number in range(19)]
        found["their content"] = (bodies, [b"message %d" % number for number in range(1, 20)])
        found["after the acknowledgement"] = (self._one.declare(self._QUEUE), 0)
        return [f"{name} is {now!r}, was {was!r}" for name, (now, was) in found.items() if now != was]
