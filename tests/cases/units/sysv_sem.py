"""A System V semaphore and a message queue"""

import ctypes
import struct

from service import libc, result

REFUSAL = "System V|SysV"
MUST = {"semaphore": [0, 0], "queue": 2}
NOWAIT = 0o4000


def program():
    semaphore = result(libc.semget(0, 1, 0o1600))
    libc.semctl(semaphore, 0, 16, 1)  # SETVAL
    queue = result(libc.msgget(0, 0o1600))

    def change(by):
        return result(libc.semop(semaphore, struct.pack("hhh", 0, by, NOWAIT), 1))

    def observe():
        sent = result(libc.msgsnd(queue, struct.pack("l", 1) + b"hi", 2, NOWAIT))
        received = result(libc.msgrcv(queue, ctypes.create_string_buffer(64), 2, 0, NOWAIT))
        return {"semaphore": [change(-1), change(1)], "queue": sent or received}

    return observe
