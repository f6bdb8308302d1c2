"""2,000 keys; a connection that stays open"""

from tests.applications.wire import values

UNITS = ("memcached.service",)
PORTS = (11211,)
PACKAGES = ("memcached",)
RELEASES = {"12": "", "13": ""}


class Client:
    def __init__(self, connect):
        self._wire, self._pairs = connect(PORTS[0]), values(b"memcached", 2000)
        for key, value in self._pairs:
            self._wire.send(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value))
            self._wire.line()

        #: How many keys it compares
        self.size = len(self._pairs) + 1

    def before(self):
        """A key whose value is half sent."""
        self._wire.send(b"set half 0 0 8\r\n1234")

    def after(self):
        said = self.finish()
        wrong = sum(self.count())
        return [f"a divided command was answered {said!r}"] * (said != b"STORED") + [
            f"{wrong} of {len(self._pairs)} keys are not what they were"
        ] * bool(wrong)

    def finish(self):
        """Send the other half; return the answer."""
        self._wire.send(b"5678\r\n")
        return self._wire.line()

    def count(self):
        """Return how many keys are lost, and how many have another value."""
        found = [(self._get(key), value) for key, value in [*self._pairs, (b"half", b"12345678")]]
        lost = sum(now is None for now, _value in found)
        return lost, sum(now != value for now, value in found) - lost

    def _get(self, key):
        self._wire.send(b"get %s\r\n" % key)
        line = self._wire.line()
        if line == b"END":
            return None
        value = self._wire.take(int(line.split()[3]))
        self._wire.line()
        self._wire.line()
        return value
