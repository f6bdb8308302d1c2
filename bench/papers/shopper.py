"""Uses memcached as a cache, all the time, on connections that stay open.

python3 -m bench.papers.shopper HOST ITEMS DELAY_MS     prints "ready" when all items are there; from then until a line on standard input

Four of five requests are for a fifth of the items, and so on within that fifth (a self-similar distribution, which has Pareto's law). What
is not there is fetched from a database, which takes DELAY_MS, and stored. At the end one line of JSON: {"seconds": [[second of the monotonic
clock, requests, hits]], "reconnects", "wrong"}.
"""

import asyncio
import collections
import json
import math
import random
import sys
import time

PORT = 11211
WORKERS = 8
SKEW = math.log(0.2) / math.log(0.8)
# Seconds for a new connection: the node may be away.
PATIENCE = 1
CHUNK = 500


def value(number):
    return b"%d:" % number + b"v" * (60 + number % 80)


class Shopper:
    def __init__(self, host, items, delay):
        self._host, self._items, self._delay = host, items, delay
        self._requests, self._hits = collections.Counter(), collections.Counter()
        self._ends = asyncio.Event()
        self.reconnects = self.wrong = 0

    def connect(self):
        return asyncio.wait_for(asyncio.open_connection(self._host, PORT), PATIENCE)

    async def fill(self):
        reader, writer = await self.connect()
        for start in range(0, self._items, CHUNK):
            for number in range(start, min(start + CHUNK, self._items)):
                writer.write(self._store(number, b" noreply"))
            writer.write(b"version\r\n")
            await reader.readline()
        writer.close()

    @staticmethod
    def _store(number, word=b""):
        data = value(number)
        return b"set item-%d 0 0 %d%s\r\n%s\r\n" % (number, len(data), word, data)

    async def shop(self):
        """Make requests until the end, on one connection for as long as it lives."""
        while not self._ends.is_set():
            try:
                reader, writer = await self.connect()
            except (OSError, TimeoutError):
                await asyncio.sleep(0.1)
                continue
            try:
                while not self._ends.is_set():
                    await self._ask(reader, writer)
            except (OSError, asyncio.IncompleteReadError):
                self.reconnects += 1
            finally:
                writer.close()

    async def _ask(self, reader, writer):
        number = int(self._items * random.random() ** SKEW)
        writer.write(b"get item-%d\r\n" % number)
        head = await reader.readuntil(b"\r\n")
        is_hit = head != b"END\r\n"
        if is_hit:
            data = await reader.readexactly(int(head.split()[3]) + len(b"\r\nEND\r\n"))
            self.wrong += data != value(number) + b"\r\nEND\r\n"
        else:
            await asyncio.sleep(self._delay)
            writer.write(self._store(number))
            await reader.readuntil(b"\r\n")
        second = int(time.monotonic())
        self._requests[second] += 1
        self._hits[second] += is_hit

    def end(self):
        self._ends.set()

    def said(self):
        seconds = [[second, self._requests[second], self._hits[second]] for second in sorted(self._requests)]
        return {"seconds": seconds, "reconnects": self.reconnects, "wrong": self.wrong}


async def main():
    shopper = Shopper(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) / 1000)
    await shopper.fill()
    work = [asyncio.create_task(shopper.shop()) for _number in range(WORKERS)]
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    shopper.end()
    await asyncio.gather(*work)
    print(json.dumps(shopper.said()))


if __name__ == "__main__":
    asyncio.run(main())
