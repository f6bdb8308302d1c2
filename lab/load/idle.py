"""Connections that were used once and then say nothing until the end: the ones no retransmission wakes up."""

from . import clock, meta, values
from .connection import RESET, Connection
from .prober import PROBED_KEY


class IdleConnection:
    """One such connection. `ask()` sends a read of a known key; `answered` says whether that was answered rightly."""

    def __init__(self, selector, address, size):
        self._expected = values.value(PROBED_KEY, 0, size)
        self._request = meta.read_request(values.key_name(PROBED_KEY))
        self._waits = False
        self.answered = False
        self.resets = 0
        self.lost_at = None
        self.why = None
        self._connection = Connection(selector, address, self._answer, self._lost)
        self.local_port = self._connection.local_port

    @property
    def settled(self):
        """Whether nothing more is to come: answered, or lost."""
        return not self._waits or self.lost_at is not None

    def ask(self):
        """Ask over this connection; ends in `answered` or in a reason in `why`."""
        self.answered = False
        if self.lost_at is None:
            self._waits = True
            self._connection.ask(self._request)

    def close(self):
        """Close the connection from this side."""
        self._connection.close()

    def _answer(self, line, value):
        self._waits = False
        if value == self._expected:
            self.answered = True
        elif value is None:
            self.why = f"it answered {line.decode('ascii', 'replace')!r}"
        else:
            self.why = f"it answered a wrong value: {values.describe(value, self._expected)}"

    def _lost(self, kind, why):
        self.resets += kind == RESET
        self.lost_at = clock.wall(clock.now())
        self.why = f"{kind}: {why}"

    def result(self):
        """Return {"local_port", "kept", "why", "lost_at"}, to be called after the last `ask()` has had its time."""
        why = self.why if self.why or self.answered else "it did not answer the last request"
        return {"local_port": self.local_port, "kept": self.answered, "why": why, "lost_at": self.lost_at}
