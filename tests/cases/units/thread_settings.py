"""I/O priority and timer slack of one thread, personality, page merging, core dump filter and flag of I/O flushers of the process"""

import os
import threading

from service import libc

IOPRIO_SET, IOPRIO_GET, WHO_PROCESS, BEST_EFFORT_7 = 251, 252, 1, 2 << 13 | 7
SET_TIMERSLACK, GET_TIMERSLACK, SET_IO_FLUSHER, GET_IO_FLUSHER, SET_MEMORY_MERGE, GET_MEMORY_MERGE = (
    29,
    30,
    57,
    58,
    67,
    68,
)
ADDR_NO_RANDOMIZE, ASK = 0x0040000, 0xFFFFFFFF


def of_thread():
    slack = libc.prctl(GET_TIMERSLACK, 0, 0, 0, 0)
    return {"io": libc.syscall(IOPRIO_GET, WHO_PROCESS, 0), "slack": slack, "cpus": sorted(os.sched_getaffinity(0))}


class Other(threading.Thread):
    """A thread with settings of its own, which looks at them when it is asked."""

    def __init__(self):
        super().__init__(daemon=True)
        self._asked, self._answered, self._found = threading.Event(), threading.Event(), None

    def run(self):
        libc.syscall(IOPRIO_SET, WHO_PROCESS, 0, BEST_EFFORT_7)
        libc.prctl(SET_TIMERSLACK, 1, 0, 0, 0)
        while self._asked.wait():
            self._asked.clear()
            self._found = of_thread()
            self._answered.set()

    def ask(self):
        self._asked.set()
        self._answered.wait()
        self._answered.clear()
        return self._found


def program():
    libc.personality(ADDR_NO_RANDOMIZE)
    libc.prctl(SET_IO_FLUSHER, 1, 0, 0, 0)
    libc.prctl(SET_MEMORY_MERGE, 1, 0, 0, 0)
    with open("/proc/self/coredump_filter", "w") as stream:
        stream.write("0x7f")
    other = Other()
    other.start()

    def observe():
        with open("/proc/self/coredump_filter") as stream:
            dumped = stream.read().strip()
        return {
            "other": other.ask(),
            "main": of_thread(),
            "personality": libc.personality(ASK),
            "flusher": libc.prctl(GET_IO_FLUSHER, 0, 0, 0, 0),
            "merge": libc.prctl(GET_MEMORY_MERGE, 0, 0, 0, 0),
            "dumped": dumped,
        }

    return observe
