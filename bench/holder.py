"""An application that holds memory: half of it it changes all the time, of the other half it answers what is there.

    holder.py MIB RATE     RATE pages are written per second (0, or from 10 on)
    holder.py clock        prints the clock of the processor, the seconds since the kernel's start, and the ticks per second

"N\\n" on TCP port 7070 is answered by "N WORD TICKS\\n", the word that the first half's page number N begins with (`word`
says what it must be), and the processor's clock, which goes on across kernels. One thread does all: how long CRIU looks at a
page depends on how many there are.
"""

import ctypes
import mmap
import random
import selectors
import socket
import struct
import sys
import time

PORT = 7070
PAGE = 4096
WORD = struct.Struct("<Q")
CHUNK = 256  # pages
PERIOD = 0.1  # seconds


def word(page):
    """Return what the page begins with, as a number."""
    return page * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF


def fill(memory):
    """No page is like another, and none is empty."""
    pages = len(memory) // PAGE
    chunk = bytearray(random.randbytes(CHUNK * PAGE))
    for start in range(0, pages, CHUNK):
        for page in range(start, start + CHUNK):
            WORD.pack_into(chunk, (page - start) * PAGE, word(page))
        memory[start * PAGE : (start + CHUNK) * PAGE] = chunk


class Writer:
    """Writes to the second half, several pages at a time: to wake up for each would take more of a processor than to write."""

    def __init__(self, memory, rate):
        self._memory, self._pages = memory, len(memory) // PAGE
        self._burst = round(rate * PERIOD)
        self._due = time.monotonic()

    def write(self):
        """Write what is due; return the seconds until more is, or None: never."""
        if not self._burst:
            return None
        if time.monotonic() >= self._due:
            for _page in range(self._burst):
                page = random.randrange(self._pages // 2, self._pages)
                WORD.pack_into(self._memory, page * PAGE + 64, random.getrandbits(64))
            self._due = time.monotonic() + PERIOD
        return max(self._due - time.monotonic(), 0)


class Clock:
    """The processor's time stamp counter."""

    # rdtsc; shl $32, %rdx; or %rdx, %rax; ret
    CODE = b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3"

    def __init__(self):
        self._code = mmap.mmap(-1, PAGE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._code.write(self.CODE)
        self.ticks = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(self._code)))


def tell_clock():
    """Print the clock beside the kernel's. Not for the restored holder: its kernel's clock is made to go on."""
    clock = Clock()
    begin = clock.ticks(), time.clock_gettime(time.CLOCK_BOOTTIME)
    time.sleep(1)
    end = clock.ticks(), time.clock_gettime(time.CLOCK_BOOTTIME)
    print(end[0], end[1], (end[0] - begin[0]) / (end[1] - begin[1]))


class Server:
    """Answers all connections as they ask."""

    def __init__(self, memory, clock):
        self._memory, self._clock = memory, clock
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server(("", PORT), backlog=128)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def serve(self, writer):
        while True:
            for key, _events in self._selector.select(writer.write()):
                key.data(key.fileobj)

    def _accept(self, listener):
        self._selector.register(listener.accept()[0], selectors.EVENT_READ, self._answer)

    def _answer(self, connection):
        try:
            # A question comes whole, and there is one at a time.
            asked = connection.recv(64)
            if asked:
                page = int(asked)
                found = WORD.unpack_from(self._memory, page * PAGE)[0]
                return connection.sendall(b"%d %d %d\n" % (page, found, self._clock.ticks()))
        except ConnectionError:
            pass
        self._selector.unregister(connection)
        connection.close()


def main():
    if sys.argv[1:] == ["clock"]:
        return tell_clock()
    size, rate = int(sys.argv[1]) << 20, float(sys.argv[2])
    memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    fill(memory)
    return Server(memory, Clock()).serve(Writer(memory, rate))


if __name__ == "__main__":
    main()
