"""A broker: a subscription, messages that are kept, and one that its receiver has not acknowledged"""

import struct

UNITS = ("mosquitto.service",)
PORTS = (1883,)
PACKAGES = ("mosquitto",)
FILES = {"/etc/mosquitto/conf.d/node.conf": "listener 1883 0.0.0.0\nallow_anonymous true\n"}
# https://docs.oasis-open.org/mqtt/mqtt/v3.1.1/
_CONNECT, _ACCEPTED, _PUBLISH, _ACKNOWLEDGED, _SUBSCRIBE, _SUBSCRIBED = 1, 2, 3, 4, 8, 9
_KEPT = 100


def text(word):
    return struct.pack(">H", len(word)) + word


class Connection:
    """A connection without keep-alive, of the client NAME."""

    def __init__(self, wire, name):
        self._wire = wire
        self._send(_CONNECT, 0, text(b"MQTT") + struct.pack(">BBH", 4, 2, 0) + text(name))
        self._expect(_ACCEPTED)

    def _send(self, kind, flags, body):
        size, length = b"", len(body)
        while length or not size:
            size += bytes([length & 127 | (128 if length > 127 else 0)])
            length >>= 7
        self._wire.send(bytes([kind << 4 | flags]) + size + body)

    def _read(self):
        (head,), size, shift, more = self._wire.take(1), 0, 0, 128
        while more & 128:
            (more,) = self._wire.take(1)
            size, shift = size | (more & 127) << shift, shift + 7
        return head >> 4, head & 15, self._wire.take(size)

    def _expect(self, kind):
        found = self._read()
        if found[0] != kind:
            raise ValueError(f"a packet of kind {found[0]}, expected {kind}")
        return found

    def publish(self, topic, body, keep=False):
        """Publish with an acknowledgement (quality 1)."""
        self._send(_PUBLISH, 2 | keep, text(topic) + struct.pack(">H", 1) + body)
        self._expect(_ACKNOWLEDGED)

    def subscribe(self, topic):
        self._send(_SUBSCRIBE, 2, struct.pack(">H", 1) + text(topic) + b"\1")
        self._expect(_SUBSCRIBED)

    def message(self):
        """Return (topic, body, number for the acknowledgement or None)."""
        _kind, flags, body = self._expect(_PUBLISH)
        (size,) = struct.unpack(">H", body[:2])
        topic, rest = body[2 : 2 + size], body[2 + size :]
        return (topic, rest[2:], rest[:2]) if flags & 6 else (topic, rest, None)

    def acknowledge(self, number):
        self._send(_ACKNOWLEDGED, 0, number)


class Client:
    def __init__(self, connect):
        self._connect, self._turn = connect, 0
        self._one, self._other = Connection(connect(PORTS[0]), b"one"), Connection(connect(PORTS[0]), b"other")
        for number in range(_KEPT):
            self._one.publish(b"kept/%d" % number, b"message %d" % number, keep=True)
        self._other.subscribe(b"news/#")

    def before(self):
        self._turn += 1
        self._one.publish(b"news/first", b"%d" % self._turn)
        self._open = self._other.message()
        self._one.publish(b"news/second", b"%d" % self._turn)

    def after(self):
        self._other.acknowledge(self._open[2])
        found = {"the message on its way": (self._other.message()[:2], (b"news/second", b"%d" % self._turn))}
        self._one.publish(b"news/third", b"x")
        found["the subscription"] = (self._other.message()[:2], (b"news/third", b"x"))
        late = Connection(self._connect(PORTS[0]), b"late")
        late.subscribe(b"kept/#")
        kept = {}
        for _number in range(_KEPT):
            topic, body, number = late.message()
            kept[topic] = body
            # It sends some at once, and the others when these have come.
            late.acknowledge(number)
        found["what is kept"] = (kept, {b"kept/%d" % number: b"message %d" % number for number in range(_KEPT)})
        return [f"{name} is {now!r}, was {was!r}" for name, (now, was) in found.items() if now != was]
