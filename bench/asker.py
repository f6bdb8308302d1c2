"""Asks a holder (holder.py) for pages all the time, and tells the longest time without an answer.

python3 -m bench.asker HOST PAGES     until a line on standard input; then one line of JSON

It tells that time by its own clock, and when it began and ended by the holder's. One connection lives through all of it. Once it
has been silent it hears of nothing for as long again, by TCP's retransmission timer; so what tells how long the holder was away are
new connections, one every INTERVAL.
"""

import asyncio
import json
import random
import sys
import time

from bench import holder

INTERVAL = 0.05
# A new connection's first retransmission comes after a second; by then there are newer ones.
PATIENCE = 1


class Asker:
    def __init__(self, host, pages):
        self._host, self._pages = host, pages
        self._last, self._last_ticks = time.monotonic(), None
        self.seen = {"answers": 0, "wrong": 0, "longest_s": 0.0, "longest_ticks": (0, 0)}

    async def connect(self):
        return await asyncio.open_connection(self._host, holder.PORT)

    async def ask(self, reader, writer):
        """Ask for one page; an answer counts, whether it is right or not."""
        page = random.randrange(self._pages // 2)
        writer.write(b"%d\n" % page)
        answer = await reader.readline()
        if not answer:
            raise ConnectionError("The holder has closed a connection.")
        now = time.monotonic()
        asked, found, at = answer.split()
        silence = self._last_ticks or int(at), int(at)
        self.seen["answers"] += 1
        self.seen["wrong"] += (int(asked), int(found)) != (page, holder.word(page))
        self.seen["longest_s"] = max(self.seen["longest_s"], now - self._last)
        self.seen["longest_ticks"] = max(self.seen["longest_ticks"], silence, key=lambda times: times[1] - times[0])
        self._last, self._last_ticks = now, int(at)

    async def ask_once(self):
        """A connection of its own, which may fail: the holder may be away."""
        writer = None
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await self.connect()
                await self.ask(reader, writer)
        except (OSError, TimeoutError):
            pass
        finally:
            if writer:
                writer.close()

    async def ask_often(self):
        async with asyncio.TaskGroup() as asking:
            while True:
                asking.create_task(self.ask_once())
                await asyncio.sleep(INTERVAL)


async def main():
    asker = Asker(sys.argv[1], int(sys.argv[2]))
    long_lived = await asker.connect()
    await asker.ask(*long_lived)
    probes = asyncio.create_task(asker.ask_often())
    await asyncio.to_thread(sys.stdin.readline)
    probes.cancel()
    await asker.ask(*long_lived)
    print(json.dumps(asker.seen))


if __name__ == "__main__":
    asyncio.run(main())
