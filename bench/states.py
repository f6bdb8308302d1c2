"""Has connections to an application (talk.py) in all states that an outage can meet, and tells how long each waited.

    python3 -m bench.states HOST EACH [TIMEOUT_MS]     until a line on standard input; then one line of JSON

EACH of these: `asks` every ASK seconds, `awaits` an answer that takes the application some, `is streamed to`, and `is idle` until after the
outage. TIMEOUT_MS is their TCP_USER_TIMEOUT. New connections, one every INTERVAL, tell the outage. All by this clock:

    outage_s, and for each state: gaps_s, the longest waits for a line, from the question or the line before; after_s, how much later
    than a new connection an old one was answered; lost, connections that ended; wrong, lines that were missing or came twice
"""

import asyncio
import json
import random
import socket
import sys
import time

from bench import talk

INTERVAL = 0.1
ASK = 4.0
# An application that has much to do answers late, which is no outage. After one, the newest connections are answered first.
PATIENCE = 10.0
# Of the end of the outage, for those that are idle.
LOOK = 0.05
#: Longer than any pause of an application that runs, and shorter than any outage.
OUTAGE = 3.0


class Silence:
    """The longest time between two events."""

    def __init__(self):
        self.last = time.monotonic()
        self.begin = self.end = self.last

    def note(self):
        now = time.monotonic()
        if now - self.last > self.end - self.begin:
            self.begin, self.end = self.last, now
        self.last = now

    @property
    def seconds(self):
        return self.end - self.begin


class Clients:
    def __init__(self, host, timeout):
        self._host, self._timeout = host, timeout
        self.outage = Silence()
        self._ends = asyncio.Event()
        self.states = {name: {"silences": [], "lost": 0, "wrong": 0} for name in self.ways()}

    def ways(self):
        return {"asks": self._asks, "awaits": self._awaits, "is streamed to": self._listens, "is idle": self._idles}

    def is_over(self):
        """Whether there was an outage, and new connections are answered again."""
        return self.outage.seconds > OUTAGE

    async def probe(self):
        """New connections, which may fail: the application may be away."""
        async with asyncio.TaskGroup() as probing:
            while True:
                probing.create_task(self._probe())
                await asyncio.sleep(INTERVAL)

    async def _probe(self):
        writer = None
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await asyncio.open_connection(self._host, talk.PORT)
                writer.write(b"ask\n")
                if await reader.readline():
                    self.outage.note()
        except (OSError, TimeoutError):
            pass
        finally:
            if writer:
                writer.close()

    async def live(self, state):
        """One connection in this state, until the end."""
        about, silence = self.states[state], Silence()
        reader, writer = await asyncio.open_connection(self._host, talk.PORT)
        if self._timeout:
            writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, self._timeout)
        try:
            await self.ways()[state](Line(reader, writer, silence, about))
        except OSError:
            about["lost"] += 1
        else:
            about["silences"].append((silence.begin, silence.end))
        finally:
            writer.close()

    async def _asks(self, line):
        await asyncio.sleep(random.random() * ASK)
        while not self._ends.is_set():
            await line.say(b"ask\n")
            await line.hear()
            await asyncio.sleep(ASK)

    async def _awaits(self, line):
        while not self._ends.is_set():
            await line.say(b"work\n")
            await line.hear()

    async def _listens(self, line):
        await line.say(b"stream\n")
        while not self._ends.is_set():
            await line.hear()

    async def _idles(self, line):
        await line.say(b"ask\n")
        await line.hear()
        while not self.is_over() and not self._ends.is_set():
            await asyncio.sleep(LOOK)
        await line.say(b"ask\n")
        await line.hear()

    def end(self):
        self._ends.set()

    def tell(self):
        """Return what was seen, for JSON."""
        outage = self.outage
        return {
            "outage_s": round(outage.seconds, 3),
            **{
                name: {
                    "gaps_s": sorted(round(end - begin, 3) for begin, end in about["silences"]),
                    "after_s": sorted(round(end - outage.end, 3) for _begin, end in about["silences"]),
                    "lost": about["lost"],
                    "wrong": about["wrong"],
                }
                for name, about in self.states.items()
            },
        }


class Line:
    """A connection, and the lines that have come by it."""

    def __init__(self, reader, writer, silence, about):
        self._reader, self._writer, self._silence, self._about = reader, writer, silence, about
        self._heard = 0

    async def say(self, what):
        # Nobody has waited for a line until now.
        self._silence.last = time.monotonic()
        self._writer.write(what)
        await self._writer.drain()

    async def hear(self):
        line = await self._reader.readline()
        if not line:
            raise ConnectionError("The application has closed a connection.")
        self._about["wrong"] += line != b"%d\n" % self._heard
        self._heard += 1
        self._silence.note()


async def main():
    host, each, timeout = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
    clients = Clients(host, timeout)
    old = [asyncio.create_task(clients.live(state)) for _number in range(each) for state in clients.states]
    probes = asyncio.create_task(clients.probe())
    await asyncio.to_thread(sys.stdin.readline)
    probes.cancel()
    clients.end()
    await asyncio.gather(*old)
    print(json.dumps(clients.tell()))


if __name__ == "__main__":
    asyncio.run(main())
