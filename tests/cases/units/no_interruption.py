"""Threads that wait in poll(2), nanosleep(2), clock_nanosleep(2) and futex(2) with a time limit, and that no signal may interrupt"""

import os
import struct
import threading
import time

from service import libc

_LONG = struct.pack("qq", 10**6, 0)
_SEMAPHORE = bytes(32)
CALLS = {
    "poll": lambda: libc.poll(None, 0, -1),
    "poll-limit": lambda: libc.poll(None, 0, 10**9),
    "nanosleep": lambda: libc.syscall(35, _LONG, None),
    "clock-nanosleep": lambda: libc.clock_nanosleep(1, 0, _LONG, None),
    "semaphore": lambda: libc.sem_clockwait(_SEMAPHORE, 1, struct.pack("qq", 10**9, 0)),
}


def program():
    # CRIU interrupts them on this kernel, in a rehearsal and while it copies: that cannot be helped.
    kernel = os.uname().release
    returned = set()

    def wait(name, call):
        while True:
            call()
            if os.uname().release != kernel:
                returned.add(name)

    for each in CALLS.items():
        threading.Thread(target=wait, args=each).start()
    time.sleep(1)
    return lambda: {"returned": sorted(returned), "threads": threading.active_count()}
