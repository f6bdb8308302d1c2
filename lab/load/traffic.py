"""The long-lived connection: one request at a time, reads compared whole at once, writes counted when acknowledged.

While the node does not answer, it waits: the kernel retransmits, and after an update that keeps its promise the answer
comes. It never reconnects: a reset is a loss and stays one.
"""

import random

from . import clock, meta, values
from .connection import RESET, Connection
from .prober import PROBED_KEY

_EXAMPLES = 10


class Traffic:
    """Reads and writes at `rate` operations per second, a share of `write_share` (0…1) of them writes.

    An answer may take `answer_limit` seconds. Gaps between answers longer than `threshold` seconds (beyond the pause
    that the rate implies) are listed.
    """

    def __init__(self, selector, address, keys, size, ledger, *, rate, write_share, answer_limit, threshold, seed):
        self._keys, self._size, self._ledger = keys, size, ledger
        self._pause = 1 / rate
        self._write_share = write_share
        self._answer_limit = answer_limit
        self._threshold = threshold + self._pause
        self._random = random.Random(seed)
        self._next = clock.now()
        self._request = None  # (number, is_write) while an answer is awaited
        self._asked = None
        self.ops = 0  # answers so far, to reads and writes
        self._finishing = False
        self._last_answer = None
        self._last_write = None
        self._longest = None
        self._gaps = []
        self._counts = {"reads": 0, "writes": 0, "errors": 0, "wrong": 0, "missing": 0, "resets": 0}
        self._examples = []
        self._lost_at = None
        self._why = None
        self._checked = False
        self._connection = Connection(selector, address, self._answer, self._lost)
        self.local_port = self._connection.local_port

    @property
    def lost(self):
        """Why the connection was lost, None while it is there."""
        return self._why

    @property
    def resets(self):
        """1 when the connection was reset or closed by the node."""
        return self._counts["resets"]

    @property
    def finished(self):
        """Whether, after `finish()`, nothing more is to come."""
        return self._finishing and (self._checked or self._why is not None)

    def due(self):
        """Return when `tick` has something to do next, None when only an answer matters."""
        if self._why is not None or self.finished:
            return None
        return self._asked + self._answer_limit if self._request else self._next

    def tick(self, now):
        """Send the next request when it is time; give the connection up when an answer is overdue."""
        if self._why is not None or self._checked:
            return
        if self._request:
            if now - self._asked > self._answer_limit:
                self._connection.close()
                self._lost("timeout", f"no answer within {self._answer_limit:g} s")
        elif self._finishing:
            self._read(PROBED_KEY, now)
        elif now >= self._next:
            self._start(now)

    def finish(self):
        """Let the request under way end, then ask once more and stop."""
        self._finishing = True
        self._next = clock.now()

    def close(self):
        """Close the connection from this side."""
        self._connection.close()

    def _start(self, now):
        # What was missed while the node was silent is not made up for: a burst is not the light load this is to be.
        self._next = max(self._next + self._pause, now)
        number = self._random.randrange(self._keys)
        if number != PROBED_KEY and self._random.random() < self._write_share:
            self._write(number, now)
        else:
            self._read(number, now)

    def _read(self, number, now):
        self._asked, self._request = now, (number, False)
        self._connection.ask(meta.read_request(values.key_name(number)))

    def _write(self, number, now):
        self._asked, self._request = now, (number, True)
        content = values.value(number, self._ledger.begin(number), self._size)
        self._connection.ask(meta.write_request(values.key_name(number), content))

    def _answer(self, line, value):
        now = clock.now()
        number, is_write = self._request
        last_one = self._finishing and not is_write and number == PROBED_KEY
        self._request = None
        self._note_gap(now)
        self._last_answer = now
        self.ops += 1
        if is_write:
            self._judge_write(number, line, now)
        else:
            self._counts["reads"] += 1
            self._judge_read(number, line, value)
        self._checked = last_one

    def _judge_write(self, number, line, now):
        if line == meta.STORED:
            self._counts["writes"] += 1
            self._ledger.acknowledge(number, clock.wall(now))
            self._last_write = now
        else:
            self._ledger.refuse(number)
            self._note("errors", number, f"write answered with {line.decode('ascii', 'replace')!r}, not 'HD'")

    def _judge_read(self, number, line, value):
        allowed = self._ledger.allowed(number)
        if value is None:
            self._note("missing" if line == meta.MISSING else "errors", number, line.decode("ascii", "replace"))
        elif all(value != values.value(number, generation, self._size) for generation in allowed):
            expected = values.value(number, allowed[-1], self._size)
            self._note("wrong", number, f"{values.describe(value, expected)}, not generation {allowed[-1]}")

    def _note(self, what, number, found):
        self._counts[what] += 1
        if len(self._examples) < _EXAMPLES:
            at = clock.wall(clock.now())
            self._examples.append({"what": what, "key": values.key_name(number), "found": found, "at": at})

    def _note_gap(self, now):
        if self._last_answer is None:
            return
        seconds = now - self._last_answer
        if self._longest is None or seconds > self._longest["seconds"]:
            self._longest = self._gap(now, now)
        if seconds > self._threshold:
            self._gaps.append(self._gap(now, now))

    def _gap(self, until, end):
        return {
            "start": clock.wall(self._last_answer),
            "end": clock.wall(end),
            "start_monotonic": self._last_answer,
            "end_monotonic": end,
            "seconds": round(until - self._last_answer, 4),
        }

    def _lost(self, kind, why):
        self._counts["resets"] += kind == RESET
        self._counts["errors"] += kind != RESET
        self._lost_at = clock.now()
        self._why = f"{kind}: {why}"

    def status(self, now):
        """Return the fields of the status file that concern this connection."""
        return {
            "ops": self.ops,
            "writes_acked": self._counts["writes"],
            "last_answer_at": clock.wall(self._last_answer),
            "last_answer_age_s": None if self._last_answer is None else round(now - self._last_answer, 4),
            "last_write_acked_at": clock.wall(self._last_write),
            "waiting": self._request is not None,
            "lost": self._why,
        }

    def result(self, now):
        """Return the object `long_lived` of the run's result."""
        gaps, longest = list(self._gaps), self._longest
        # An answer that never came is a gap without an end.
        if self._request and self._last_answer is not None and now - self._last_answer > self._threshold:
            gaps.append(self._gap(now, None))
            longest = max(gaps[-1], longest or gaps[-1], key=lambda gap: gap["seconds"])
        why = self._why or (None if self._checked else "it did not answer the last request")
        return {
            "local_port": self.local_port,
            "kept": self._checked and self._why is None,
            "why": why,
            "lost_at": clock.wall(self._lost_at),
            "ops": self.ops,
            **self._counts,
            "examples": self._examples,
            "threshold_s": round(self._threshold, 4),
            "longest_gap": longest,
            "gaps": gaps,
        }
