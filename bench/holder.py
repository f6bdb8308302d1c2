"""An application that holds memory: half of it it changes all the time, of the other half it answers what is there.

    holder.py MIB RATE     RATE pages are written per second (0, or from 10 on)

"N\\n" on TCP port 7070 is answered by "N WORD SECONDS\\n", the word that the first half's page number N begins with (`word`
says what it must be), and the processor's clock, which goes on across kernels.
"""

import ctypes
import mmap
import random
import socketserver
import struct
import sys
import threading
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


def write(memory, rate):
    pages = len(memory) // PAGE
    # Several at a time: to wake up for each would take more of a processor than to write.
    burst = round(rate * PERIOD)
    while burst:
        for _page in range(burst):
            page = random.randrange(pages // 2, pages)
            WORD.pack_into(memory, page * PAGE + 64, random.getrandbits(64))
        time.sleep(PERIOD)


class Clock:
    """The processor's time stamp counter, in seconds; its frequency is measured once."""

    # rdtsc; shl $32, %rdx; or %rdx, %rax; ret
    CODE = b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3"
    MEASURE = 1  # seconds

    def __init__(self):
        self._code = mmap.mmap(-1, PAGE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._code.write(self.CODE)
        self._read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(self._code)))
        ticks, began = self._read(), time.monotonic()
        time.sleep(self.MEASURE)
        self._frequency = (self._read() - ticks) / (time.monotonic() - began)

    def now(self):
        return self._read() / self._frequency


class Answer(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            page = int(line)
            found = WORD.unpack_from(self.server.memory, page * PAGE)[0]
            self.wfile.write(b"%d %d %.6f\n" % (page, found, self.server.clock.now()))


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def main():
    size, rate = int(sys.argv[1]) << 20, float(sys.argv[2])
    memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    fill(memory)
    threading.Thread(target=write, args=(memory, rate), daemon=True).start()
    with Server(("", PORT), Answer) as server:
        server.memory, server.clock = memory, Clock()
        server.serve_forever()


if __name__ == "__main__":
    main()
