"""Threads that wait with a signal mask for that time (sigsuspend, ppoll), as nginx's main process does"""

import ctypes
import os
import signal
import threading

from service import libc

MUST = {"waits": [130, 271]}


def call_of(thread):
    with open(f"/proc/self/task/{thread}/syscall", encoding="ascii") as stream:
        return int(stream.read().split()[0])


def program():
    numbers, none = [], bytes(128)
    ready = threading.Barrier(3)

    def wait(call, *arguments):
        signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
        numbers.append(threading.get_native_id())
        ready.wait()
        while True:
            call(*arguments)

    for words in ((libc.sigsuspend, none), (libc.ppoll, None, ctypes.c_ulong(0), None, none)):
        threading.Thread(target=wait, args=words, daemon=True).start()
    ready.wait()
    return lambda: {"waits": sorted(map(call_of, numbers)), "threads": len(os.listdir("/proc/self/task"))}
