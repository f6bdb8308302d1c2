"""Requests of libaio that are under way all the time, as databases have them"""

import ctypes
import mmap
import os
import struct
import threading
import time

PLACE, SIZE, COUNT = "/var/lib/case-libaio", 65536, 8
MUST = {"lost": 0, "works": True}
# <asm/unistd_64.h>
IO_SETUP, IO_GETEVENTS, IO_SUBMIT = 206, 208, 209
PWRITE, EVENT = 1, 32
LIBC = ctypes.CDLL(None, use_errno=True)


class Writer:
    """Writes to a file without the page cache, COUNT requests at a time, until it is paused."""

    def __init__(self):
        self.ring, self.open, self.done, self.paused = ctypes.c_ulong(0), 0, 0, False
        self.file = os.open(PLACE, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
        # Of whole pages, as O_DIRECT wants it.
        self.data = mmap.mmap(-1, SIZE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.data))
        LIBC.syscall(IO_SETUP, COUNT, ctypes.byref(self.ring))
        self.requests = [
            ctypes.create_string_buffer(
                struct.pack("<QIiHhIQQqQII", n, 0, 0, PWRITE, 0, self.file, address, SIZE, n * SIZE, 0, 0, 0), 64
            )
            for n in range(COUNT)
        ]

    def ask(self, number):
        pointers = (ctypes.c_void_p * 1)(ctypes.addressof(self.requests[number]))
        self.open += LIBC.syscall(IO_SUBMIT, self.ring, ctypes.c_long(1), pointers)

    def work(self):
        events, wait = ctypes.create_string_buffer(COUNT * EVENT), struct.pack("qq", 0, 100_000_000)
        for number in range(COUNT):
            self.ask(number)
        while True:
            got = LIBC.syscall(IO_GETEVENTS, self.ring, ctypes.c_long(1), ctypes.c_long(COUNT), events, wait)
            for number in range(max(got, 0)):
                self.open, self.done = self.open - 1, self.done + 1
                if not self.paused:
                    self.ask(struct.unpack_from("<Q", events, number * EVENT)[0])
            if self.open == 0 and not self.paused:
                for number in range(COUNT):
                    self.ask(number)


def program():
    writer = Writer()
    threading.Thread(target=writer.work, daemon=True).start()

    def observe():
        writer.paused, before = True, writer.done
        give_up = time.monotonic() + 10
        while writer.open and time.monotonic() < give_up:
            time.sleep(0.05)
        found = {"lost": writer.open}
        writer.paused = False
        while writer.done < before + 3 * COUNT and time.monotonic() < give_up + 10:
            time.sleep(0.05)
        return {**found, "works": writer.done >= before + 3 * COUNT}

    return observe
