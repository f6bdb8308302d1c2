"""Who may hold what: the generations written per key, acknowledged or still under way.

`fill` leaves every key in generation 0 and each write adds one, so the generations of a key are contiguous. What a key
may hold is therefore a range: from the last acknowledged generation up to the last one that was ever sent.
"""

from .errors import LoadError
from .values import key_name, key_number


class Ledger:
    """The writes of one node. Key numbers are ints; `acked_at` is epoch seconds."""

    def __init__(self):
        self._history = {}  # number -> [(generation, acked_at), …], oldest first
        self._in_flight = {}  # number -> the highest generation sent and not acknowledged

    @property
    def in_flight(self):
        """How many keys have a write without an acknowledgement."""
        return len(self._in_flight)

    def begin(self, number):
        """Note that a write of `number` is about to be sent; return its generation."""
        generation = self.allowed(number)[-1] + 1
        self._in_flight[number] = generation
        return generation

    def acknowledge(self, number, acked_at):
        """Note that the write under way for `number` was acknowledged."""
        self._history.setdefault(number, []).append((self._in_flight.pop(number), acked_at))

    def refuse(self, number):
        """Note that the node answered the write under way with a refusal: it was not stored."""
        generation = self._in_flight.pop(number) - 1
        # An older write, left without an answer by an earlier run, may still be the one that is stored.
        if generation > self._acked(number):
            self._in_flight[number] = generation

    def allowed(self, number, until=None):
        """Return the range of generations that key `number` may hold.

        With `until` (epoch seconds) writes acknowledged after that instant may or may not be there.
        """
        highest = max(self._acked(number), self._in_flight.get(number, 0))
        return range(self._acked(number, until), highest + 1)

    def _acked(self, number, until=None):
        for generation, acked_at in reversed(self._history.get(number, ())):
            if until is None or acked_at <= until:
                return generation
        return 0

    def to_json(self):
        """Return {key: {"acked", "in_flight", "acked_at", "history": [[generation, acked_at], …]}} of written keys."""
        content = {}
        for number in sorted(self._history.keys() | self._in_flight.keys()):
            history = self._history.get(number, [])
            acked, acked_at = history[-1] if history else (0, None)
            content[key_name(number)] = {
                "acked": acked,
                "in_flight": self._in_flight.get(number),
                "acked_at": acked_at,
                "history": history,
            }
        return content

    @classmethod
    def from_json(cls, content):
        """Return the ledger that `to_json` gave; ValueError, KeyError or TypeError when it is not one."""
        ledger = cls()
        for name, entry in content.items():
            number = key_number(name)
            history = [(int(generation), float(acked_at)) for generation, acked_at in entry["history"]]
            if history:
                ledger._history[number] = history
            if entry["in_flight"] is not None:
                ledger._in_flight[number] = int(entry["in_flight"])
        return ledger


def from_result(content, keys, size, path):
    """Return the ledger in the result of a run, after checking that it was a run over the same keys.

    `content` is what `run` wrote to `path`; LoadError when it is something else or of other keys or values.
    """
    try:
        ledger = Ledger.from_json(content["writes"])
        wrote = (content["keys"], content["size"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise LoadError(
            f"{path} holds no result of a run ({error!r}); give the file that `lab.load run` wrote"
        ) from error
    if wrote != (keys, size):
        raise LoadError(
            f"{path} is of a run over {wrote[0]} keys of {wrote[1]} bytes, not {keys} keys of {size} bytes; "
            "give the same --keys and --size to fill, run and verify"
        )
    return ledger
