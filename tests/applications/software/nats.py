"""A broker in Go: subscriptions, one of a group; a message that is sent in two halves; a client that has not read what it was sent"""

UNITS = ("nats-server.service",)
PORTS = (4222,)
PACKAGES = ("nats-server",)
# A client that does not answer for two minutes is closed otherwise.
SETUP = """
sed -i -e 's/^host:.*/host: 0.0.0.0/' -e '/^ping_interval/d' -e '$a ping_interval: "24h"' /etc/nats-server.conf
"""
_UNREAD = 500


class Connection:
    """The protocol: https://docs.nats.io/reference/reference-protocols/nats-protocol"""

    def __init__(self, wire):
        self.wire = wire
        wire.line()
        wire.send(b'CONNECT {"verbose":false,"pedantic":false}\r\n')
        self.ready()

    def ready(self):
        """Wait until the server has seen all that was sent."""
        self.wire.send(b"PING\r\n")
        while self._line() != b"PONG":
            pass

    def _line(self):
        """Return the next line; the server's own question, which it asks each new client soon, is answered."""
        while (line := self.wire.line()) == b"PING":
            self.wire.send(b"PONG\r\n")
        return line

    def publish(self, subject, body):
        self.wire.send(b"PUB %s %d\r\n%s\r\n" % (subject, len(body), body))

    def message(self):
        """Return (subject, body) of the message that comes next."""
        words = self._line().split()
        if words[:1] != [b"MSG"]:
            raise ValueError(f"{words!r}, expected a message")
        return words[1], self.wire.take(int(words[-1]) + 2)[:-2]


class Client:
    def __init__(self, connect):
        self._giver, self._one, self._other = (Connection(connect(PORTS[0])) for _number in range(3))
        for reader in (self._one, self._other):
            reader.wire.send(b"SUB news.* 1\r\nSUB work shared 2\r\n")
            reader.ready()
        self._turn = 0

    def before(self):
        self._turn += 1
        self._sent = [(b"news.%d" % number, b"%d " % self._turn + b"n" * number) for number in range(_UNREAD)]
        for subject, body in self._sent:
            self._giver.publish(subject, body)
        self._giver.ready()
        self._giver.wire.send(b"PUB news.half 9\r\nfirst ")

    def after(self):
        self._giver.wire.send(b"and\r\n")
        self._giver.publish(b"work", b"for one of them")
        self._giver.publish(b"news.last", b"last")
        self._giver.ready()
        expected = [*self._sent, (b"news.half", b"first and"), (b"news.last", b"last")]
        found, work = [], []
        for reader in (self._one, self._other):
            read = []
            while not read or read[-1][0] != b"news.last":
                read.append(reader.message())
            found.append([each for each in read if each[0] != b"work"])
            work += [each for each in read if each[0] == b"work"]
        wrong = [f"{len(each)} messages came, {len(expected)} were sent" for each in found if each != expected]
        return wrong + [f"{len(work)} of a group have got its message"] * (len(work) != 1)
