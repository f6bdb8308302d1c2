"""Asks a holder (holder.py) for pages all the time, and tells the longest time without an answer.

python3 -m bench.asker HOST PAGES [OLD]     until a line on standard input; then one line of JSON

It tells that time by its own clock, and when it began and ended by the holder's; so it does of the longest times of all
(silences_ticks). OLD connections (default: 20) live through all of it, and the longest
time without an answer on each is told as well (gaps_s). By TCP's retransmission timer that can be twice the time for which the holder was
away, which is told by new connections, one every INTERVAL.
"""

import asyncio
import heapq
import json
import random
import sys
import time

from bench import holder

INTERVAL = 0.05
OLD, OLD_INTERVAL = 20, 0.5
# How many silences are told.
SILENCES = 50
# A new connection's first retransmission comes after a second; by then there are newer ones.
PATIENCE = 1


class Asker:
    def __init__(self, host, pages):
        self._host, self._pages = host, pages
        self._last, self._last_ticks = time.monotonic(), None
        self._silences = [(0, 0, 0)]
        self.seen = {"answers": 0, "wrong": 0, "longest_s": 0.0, "gaps_s": []}
        self._ends = asyncio.Event()

    async def connect(self):
        return await asyncio.open_connection(self._host, holder.PORT)

    async def ask(self, reader, writer):
        """Ask for one page, and return the holder's time; an answer counts, whether it is right or not."""
        page = random.randrange(self._pages // 2)
        writer.write(b"%d\n" % page)
        answer = await reader.readline()
        if not answer:
            raise ConnectionError("The holder has closed a connection.")
        asked, found, at = map(int, answer.split())
        self.seen["answers"] += 1
        self.seen["wrong"] += (asked, found) != (page, holder.word(page))
        return at

    def _note(self, at):
        """A new connection was answered, at this time of the holder's."""
        now, begin = time.monotonic(), self._last_ticks or at
        self.seen["longest_s"] = max(self.seen["longest_s"], now - self._last)
        heapq.heappush(self._silences, (at - begin, begin, at))
        if len(self._silences) > SILENCES:
            heapq.heappop(self._silences)
        self._last, self._last_ticks = now, at

    async def ask_once(self):
        """A connection of its own, which may fail: the holder may be away."""
        writer = None
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await self.connect()
                self._note(await self.ask(reader, writer))
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

    async def ask_by_one_connection(self):
        """Until the end, in which an answer is waited for, however long it takes."""
        connection = await self.connect()
        last, gap = time.monotonic(), 0.0
        while not self._ends.is_set():
            await self.ask(*connection)
            gap, last = max(gap, time.monotonic() - last), time.monotonic()
            await asyncio.sleep(OLD_INTERVAL)
        self.seen["gaps_s"].append(round(gap, 3))

    def end(self):
        self._ends.set()

    def tell(self):
        """Return what was seen, for JSON; silences as (begin, end) of the holder's clock, the longest first."""
        silences = [times for _length, *times in sorted(self._silences, reverse=True)]
        return self.seen | {"longest_ticks": silences[0], "silences_ticks": silences}


async def main():
    asker = Asker(sys.argv[1], int(sys.argv[2]))
    number = int(sys.argv[3]) if len(sys.argv) > 3 else OLD
    old = [asyncio.create_task(asker.ask_by_one_connection()) for _number in range(number)]
    probes = asyncio.create_task(asker.ask_often())
    await asyncio.to_thread(sys.stdin.readline)
    probes.cancel()
    asker.end()
    await asyncio.gather(*old)
    print(json.dumps(asker.tell()))


if __name__ == "__main__":
    asyncio.run(main())
