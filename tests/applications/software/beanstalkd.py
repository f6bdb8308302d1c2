"""A queue of jobs: one that a client holds, one that is buried, one that waits for its time, and a client that waits for a job"""

UNITS = ("beanstalkd.service",)
PORTS = (11300,)
PACKAGES = ("beanstalkd",)
SETUP = "sed -i -e 's/^BEANSTALKD_LISTEN_ADDR=.*/BEANSTALKD_LISTEN_ADDR=0.0.0.0/' /etc/default/beanstalkd"
_JOBS = 200
# Seconds that a client may hold a job, and that a job waits: longer than any outage.
_LONG = 86400


class Connection:
    """The protocol: https://github.com/beanstalkd/beanstalkd/blob/master/doc/protocol.txt"""

    def __init__(self, wire):
        self._wire = wire

    def say(self, command, body=None):
        self._wire.send(command + b"\r\n" + (b"" if body is None else body + b"\r\n"))

    def answer(self):
        return self._wire.line().split()

    def ask(self, command, body=None):
        self.say(command, body)
        return self.answer()

    def job(self):
        """Return (number, body) of the job that an answer brings."""
        word, *words = self.answer()
        if word not in (b"RESERVED", b"FOUND"):
            raise ValueError(f"{word.decode()}, expected a job")
        body = self._wire.take(int(words[1]) + 2)
        return words[0], body[:-2]

    def put(self, body, delay=0):
        word, *words = self.ask(b"put 10 %d %d %d" % (delay, _LONG, len(body)), body)
        if word != b"INSERTED":
            raise ValueError(f"{word.decode()}, expected INSERTED")
        return words[0]


class Client:
    def __init__(self, connect):
        self._worker, self._waiting, self._giver = (Connection(connect(PORTS[0])) for _number in range(3))
        self._bodies = [b"job %d " % number + b"x" * number for number in range(_JOBS)]
        for body in self._bodies:
            self._giver.put(body)
        self._late = self._giver.put(b"late", _LONG)
        self._worker.say(b"reserve")
        self._buried = self._worker.job()[0]
        self._worker.ask(b"bury %s 10" % self._buried)
        self._waiting.ask(b"watch news")
        self._waiting.ask(b"ignore default")
        self._giver.ask(b"use news")

    def before(self):
        self._worker.say(b"reserve")
        self._held = self._worker.job()[0]
        # A command that has no answer yet, and half a command.
        self._waiting.say(b"reserve")
        self._giver._wire.send(b"put 10 0 60 4\r\nne")

    def _state(self, number):
        """Return the state of a job, as statistics in YAML say it."""
        word, *words = self._worker.ask(b"stats-job " + number)
        if word != b"OK":
            return word
        lines = self._worker._wire.take(int(words[0]) + 2).split(b"\n")
        return next(line.split()[1] for line in lines if line.startswith(b"state:"))

    def after(self):
        self._giver._wire.send(b"ws\r\n")
        found = {
            "the divided command": (self._giver.answer()[0], b"INSERTED"),
            "the job that was waited for": (self._waiting.job()[1], b"news"),
            "the held job": (self._state(self._held), b"reserved"),
            "the buried job": (self._state(self._buried), b"buried"),
            "the late job": (self._state(self._late), b"delayed"),
            "the release of the held job": (self._worker.ask(b"release %s 10 0" % self._held), [b"RELEASED"]),
        }
        for number, body in enumerate(self._bodies, 1):
            self._worker.say(b"peek %d" % number)
            found[f"job {number}"] = (self._worker.job(), (b"%d" % number, body))
        return [f"{name} is {now!r}, was {was!r}" for name, (now, was) in found.items() if now != was]
