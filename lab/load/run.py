"""`lab.load run`: the load on one node until somebody says stop, and what its clients saw.

One thread and one selector for everything: the run shares its cores with the virtual machines it measures.
"""

import os
import selectors
import signal
import time

from . import clock, jsonfile
from .errors import LoadError
from .idle import IdleConnection
from .prober import Prober
from .traffic import Traffic

_STATUS_INTERVAL = 1.0
# How long a node that is up may take to answer on all connections: at the start, and again at the end.
_OPEN_LIMIT = 30.0


class Run:
    """The load on one node. `options` are the command line's (see __main__.py), `ledger` what earlier runs wrote."""

    def __init__(self, address, options, ledger):
        self._address = address
        self._options = options
        self._ledger = ledger
        self._status_path = options.out.with_name(options.out.name + ".status")
        self._selector = selectors.DefaultSelector()
        self._stop_signal = None
        self._begin = clock.now()
        self._next_status = self._begin
        threshold = options.threshold / 1000
        self._traffic = Traffic(
            self._selector,
            address,
            options.keys,
            options.size,
            ledger,
            rate=options.rate,
            write_share=options.write_percent / 100,
            answer_limit=options.answer_limit,
            threshold=threshold,
            seed=options.seed,
        )
        self._idle = [IdleConnection(self._selector, address, options.size) for _index in range(options.idle)]
        self._prober = Prober(
            self._selector,
            address,
            options.size,
            interval=options.probe_interval / 1000,
            limit=options.probe_limit / 1000,
            threshold=threshold,
        )

    def run(self):
        """Load the node until SIGTERM, SIGINT or the time bound; write and return the result.

        LoadError when the node does not answer on every connection at the start, or a file cannot be written.
        """
        jsonfile.remove(self._options.out)
        jsonfile.remove(self._status_path)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._note_signal)
        try:
            self._open()
            ended_by = self._load()
            stopped = clock.now()
            self._prober.stop()
            probe, outages = self._prober.result(stopped)
            self._finish()
            result = self._result(ended_by, probe, outages)
        finally:
            self._close()
        jsonfile.write(self._options.out, result)
        self._write_status(clock.now(), ended=True)
        return result

    def _note_signal(self, number, _frame):
        self._stop_signal = signal.Signals(number).name

    def _open(self):
        """Use every connection once."""
        for connection in self._idle:
            connection.ask()
        deadline = clock.now() + _OPEN_LIMIT
        while not (self._traffic.ops and all(connection.settled for connection in self._idle)):
            if self._stop_signal:
                raise LoadError(f"{self._address.text} had not answered yet when {self._stop_signal} ended the run")
            if self._traffic.lost or clock.now() > deadline:
                break
            self._traffic.tick(clock.now())
            self._poll(deadline)
        reasons = [f"it did not answer within {_OPEN_LIMIT:g} s"] if not self._traffic.ops else []
        reasons += [connection.result()["why"] for connection in self._idle if not connection.answered]
        if self._traffic.lost or reasons:
            raise LoadError(
                f"{self._address.text} does not answer on all {1 + len(self._idle)} connections at the start "
                f"({self._traffic.lost or reasons[0]}); start memcached there and `lab.load fill` it first"
            )

    def _load(self):
        """Load and probe; return what ended it: "SIGTERM", "SIGINT" or "seconds"."""
        deadline = clock.now() + self._options.seconds
        while True:
            now = clock.now()
            if self._stop_signal or now >= deadline:
                return self._stop_signal or "seconds"
            self._prober.tick(now)
            self._traffic.tick(now)
            if now >= self._next_status:
                self._next_status = now + _STATUS_INTERVAL
                self._write_status(now)
            # A signal does not end the poll (PEP 475); the prober's interval bounds how long it stays unnoticed.
            self._poll(self._prober.due(), self._next_status, deadline)

    def _finish(self):
        """Let the request under way end, and ask on every connection whether it is still there."""
        deadline = clock.now() + self._options.finish_limit
        self._traffic.finish()
        for connection in self._idle:
            connection.ask()
        while clock.now() < deadline:
            if self._traffic.finished and all(connection.settled for connection in self._idle):
                return
            self._traffic.tick(clock.now())
            self._poll(deadline)

    def _poll(self, *instants):
        due = min(instant for instant in (*instants, self._traffic.due()) if instant is not None)
        for key, mask in self._selector.select(max(0.0, due - clock.now())):
            key.data.ready(mask)

    def _close(self):
        for part in (self._traffic, *self._idle):
            part.close()
        self._prober.stop()
        self._selector.close()

    def _write_status(self, now, ended=False):
        last_probe = self._prober.last_answer
        status = {
            "time": clock.wall(now),
            "pid": os.getpid(),
            "ended": ended,
            **self._traffic.status(now),
            "resets": self._resets(),
            "probe_last_answer_at": clock.wall(last_probe),
            "probe_last_answer_age_s": None if last_probe is None else round(now - last_probe, 4),
        }
        jsonfile.write(self._status_path, status)

    def _resets(self):
        return self._traffic.resets + sum(connection.resets for connection in self._idle)

    def _result(self, ended_by, probe, outages):
        now = clock.now()
        long_lived = self._traffic.result(now)
        idle = [connection.result() for connection in self._idle]
        return {
            "host": self._address.host,
            "port": self._address.port,
            "keys": self._options.keys,
            "size": self._options.size,
            "started_at": clock.wall(self._begin),
            "ended_at": clock.wall(now),
            "ended_by": ended_by,
            "seconds": round(now - self._begin, 3),
            "cpu_s": round(time.process_time(), 3),
            "connections_before": 1 + len(idle),
            "connections_kept": long_lived["kept"] + sum(connection["kept"] for connection in idle),
            "resets": self._resets(),
            "outage_s": max((outage["seconds"] for outage in outages), default=0.0),
            "outages": outages,
            "probe": probe,
            "long_lived": long_lived,
            "idle": idle,
            "writes": self._ledger.to_json(),
        }
