"""From single attempts to outages, as a client sees them. Pure arithmetic on instants, no sockets.

Attempts overlap, so an outage is bounded on the safe side: it begins at the *start* of the last attempt that was
answered before it, and ends when the first *answer* after it arrives. An attempt that was started during the outage
and answered at its end (a stopped process, a full accept queue) therefore shortens nothing. A reported outage is never
shorter than the true one, and longer by at most two probe intervals and the latency of two attempts.
"""

from . import clock


class Outages:
    """Collects the times without an answer longer than `threshold` seconds; instants are clock.now() values."""

    def __init__(self, threshold):
        self._threshold = threshold
        self._found = []
        self._last_answer = None  # when the latest answer arrived
        self._answered_start = None  # the latest start among the attempts answered so far
        self._last_start = None  # the latest start of any attempt
        self._blind = 0.0  # the longest time without a new attempt since the last answer
        self._failed = 0  # attempts that failed since the last answer
        self.blind_max = 0.0

    @property
    def last_answer(self):
        """When the latest answer arrived, None before the first."""
        return self._last_answer

    def started(self, now):
        """An attempt starts now."""
        self._note_blind(now)
        self._last_start = now

    def answered(self, start, now):
        """The attempt of `start` was answered now."""
        self._note_blind(now)
        if self._last_answer is not None and now - self._last_answer > self._threshold:
            self._found.append(self._outage(now, now))
        self._last_answer = now
        self._answered_start = start if self._answered_start is None else max(start, self._answered_start)
        self._blind = 0.0
        self._failed = 0

    def failed(self, start):
        """The attempt of `start` failed; it is known only now, perhaps after the outage it belongs to."""
        if self._found and start < self._found[-1]["end_monotonic"]:
            self._found[-1]["attempts_failed"] += 1
        else:
            self._failed += 1

    def result(self, now):
        """Return all outages up to now, one that is still going on with `end` null."""
        found = list(self._found)
        if self._last_answer is not None and now - self._last_answer > self._threshold:
            self._note_blind(now)
            found.append(self._outage(now, None))
        return found

    def _note_blind(self, now):
        if self._last_start is not None:
            self._blind = max(self._blind, now - self._last_start)
            self.blind_max = max(self.blind_max, self._blind)

    def _outage(self, until, end):
        return {
            "start": clock.wall(self._answered_start),
            "end": clock.wall(end),
            "start_monotonic": self._answered_start,
            "end_monotonic": end,
            "seconds": round(until - self._answered_start, 4),
            "attempts_failed": self._failed,
            # Where this is about as long as the outage, it was the client that slept, not the node.
            "blind_s": round(self._blind, 4),
        }
