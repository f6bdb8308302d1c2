"""20,000 keys; a named connection; a transaction (MULTI) whose commands wait"""

from tests.applications.wire import values

UNITS = ("redis-server.service",)
PORTS = (6379,)
PACKAGES = ("redis-server",)
RELEASES = {"12": "", "13": ""}
SETUP = """
sed -i -e 's/^bind .*/bind 0.0.0.0/' -e 's/^protected-mode .*/protected-mode no/' /etc/redis/redis.conf
"""


def command(*words):
    """Return WORDS (bytes) as redis takes them."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def reply(wire):
    """Return the next reply: bytes, an int, a list or None; an error as an exception."""
    kind, text = (line := wire.line())[:1], line[1:]
    if kind == b"-":
        return ValueError(text.decode())
    if kind == b"$":
        if text == b"-1":
            return None
        data = wire.take(int(text))
        wire.take(2)
        return data
    if kind == b"*":
        return [reply(wire) for _number in range(int(text))]
    return int(text) if kind == b":" else text


class Client:
    def __init__(self, connect, port=PORTS[0]):
        self._wire, self._multi, self._pairs = connect(port), connect(port), values(b"redis", 20000)
        for begin in range(0, len(self._pairs), 500):
            self._ask(self._wire, b"MSET", *(word for pair in self._pairs[begin : begin + 500] for word in pair))
        self._ask(self._wire, b"CLIENT", b"SETNAME", b"of-before")
        self._id = self._ask(self._wire, b"CLIENT", b"ID")
        self._count = 0

    @staticmethod
    def _ask(wire, *words):
        wire.send(command(*words))
        return reply(wire)

    def before(self):
        self._count = self._ask(self._wire, b"INCR", b"transactions")
        self._ask(self._multi, b"MULTI")
        self._ask(self._multi, b"INCR", b"transactions")

    def after(self):
        found = {
            "its name": (self._ask(self._wire, b"CLIENT", b"GETNAME"), b"of-before"),
            "its id": (self._ask(self._wire, b"CLIENT", b"ID"), self._id),
            "the transaction": (self._ask(self._multi, b"EXEC"), [self._count + 1]),
        }
        wrong = 0
        for begin in range(0, len(self._pairs), 500):
            part = self._pairs[begin : begin + 500]
            have = self._ask(self._wire, b"MGET", *(key for key, _value in part))
            wrong += sum(one != value for one, (_key, value) in zip(have, part, strict=True))
        return [f"{name} is {now!r}, was {was!r}" for name, (now, was) in found.items() if now != was] + [
            f"{wrong} of {len(self._pairs)} keys are not what they were"
        ] * bool(wrong)
