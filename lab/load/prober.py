"""The prober: one fresh connection and read every few milliseconds, overlapping, so that a lost SYN blinds nobody."""

import collections

from . import clock, meta, values
from .connection import Connection
from .outages import Outages

# The key every check reads. The load never writes it, so that its value is known without asking anybody.
PROBED_KEY = 0


class Prober:
    """Starts an attempt every `interval` seconds, gives each one `limit` seconds, and keeps the outages.

    A well-formed answer ends an outage, whatever it says; answers other than the right value are counted apart.
    """

    def __init__(self, selector, address, size, interval, limit, threshold):
        self._selector = selector
        self._address = address
        self._interval = interval
        self._limit = limit
        self._threshold = threshold
        self._request = meta.read_request(values.key_name(PROBED_KEY))
        self._expected = values.value(PROBED_KEY, 0, size)
        self._outages = Outages(threshold)
        self._under_way = collections.deque()  # attempts, oldest first; those that are over leave with their turn
        self._next = clock.now()
        self._attempts = 0
        self._failed = collections.Counter()
        self._answered = 0
        self._missing = 0
        self._wrong = 0
        self._first_unexpected = None
        self._latency_sum = 0.0
        self._latency_max = 0.0

    @property
    def last_answer(self):
        """When the latest answer to an attempt arrived (clock.now()), None before the first."""
        return self._outages.last_answer

    def due(self):
        """Return when `tick` has something to do next."""
        return self._next

    def tick(self, now):
        """Give up the attempts that waited too long and start the next one when it is time."""
        while self._under_way and (self._under_way[0].over or now - self._under_way[0].start >= self._limit):
            attempt = self._under_way.popleft()
            if not attempt.over:
                attempt.give_up()
                self.count_failure(attempt.start, "timeout")
        if now >= self._next:
            # After a stall of this process the missed attempts are not made up for: they would all ask at once.
            self._next = max(self._next + self._interval, now)
            self._attempts += 1
            self._outages.started(now)
            self._under_way.append(_Attempt(self, now))

    def stop(self):
        """Close the attempts under way; they count as neither answered nor failed."""
        for attempt in self._under_way:
            attempt.give_up()
        self._under_way.clear()

    def connect(self, on_answer, on_lost):
        """Open an attempt's connection and send its request."""
        connection = Connection(self._selector, self._address, on_answer, on_lost)
        connection.ask(self._request)
        return connection

    def count_answer(self, start, line, value):
        """Note the answer to the attempt of `start`."""
        now = clock.now()
        self._answered += 1
        self._latency_sum += now - start
        self._latency_max = max(self._latency_max, now - start)
        self._outages.answered(start, now)
        if value == self._expected:
            return
        if line == meta.MISSING:
            self._missing += 1
        else:
            self._wrong += 1
        if self._first_unexpected is None:
            what = line.decode("ascii", "replace") if value is None else values.describe(value, self._expected)
            self._first_unexpected = {"at": clock.wall(now), "found": what}

    def count_failure(self, start, kind):
        """Note that the attempt of `start` ended without an answer, by `kind` (see Connection)."""
        self._failed[kind] += 1
        self._outages.failed(start)

    def result(self, now):
        """Return ({probe statistics}, [outages])."""
        statistics = {
            "interval_s": self._interval,
            "attempt_limit_s": self._limit,
            "threshold_s": self._threshold,
            "resolution_s": self._interval,
            "attempts": self._attempts,
            "answered": self._answered,
            "failed": dict(self._failed),
            "missing": self._missing,
            "wrong": self._wrong,
            "first_unexpected": self._first_unexpected,
            "latency_mean_s": round(self._latency_sum / self._answered, 6) if self._answered else None,
            "latency_max_s": round(self._latency_max, 6) if self._answered else None,
            "blind_max_s": round(self._outages.blind_max, 4),
            "last_answer_at": clock.wall(self.last_answer),
        }
        return statistics, self._outages.result(now)


class _Attempt:
    """One fresh connection with one read."""

    def __init__(self, prober, start):
        self.start = start
        self.over = False
        self._prober = prober
        self._connection = prober.connect(self._answer, self._lost)

    def give_up(self):
        """End the attempt without counting it."""
        self.over = True
        self._connection.close()

    def _answer(self, line, value):
        self.give_up()
        self._prober.count_answer(self.start, line, value)

    def _lost(self, kind, _why):
        self.over = True
        self._prober.count_failure(self.start, kind)
