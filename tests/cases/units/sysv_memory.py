"""System V shared memory: attached twice, by a child as well, removed but attached, and attached by nobody"""

import ctypes
import os

from service import libc, result

MUST = {"private": "of nobody else", "child": True}
KEY = 0x6B757002
SIZE = 3 * 4096 + 100
REMOVE, READ_ONLY = 0, 0o10000


def attach(number, flags=0):
    libc.shmat.restype = ctypes.c_void_p
    return libc.shmat(number, None, flags)


def table(number):
    with open("/proc/sysvipc/shm", encoding="ascii") as rows:
        return next(words for row in rows if (words := row.split())[1] == str(number))


def mapped():
    with open("/proc/self/maps", encoding="ascii") as rows:
        return [row.split()[:5] for row in rows if "/SYSV" in row]


def program():
    number = result(libc.shmget(KEY, SIZE, 0o1640))
    write, read = attach(number), attach(number, READ_ONLY)
    ctypes.memmove(write + SIZE - 16, b"shared by both", 15)
    removed = result(libc.shmget(0, 4096, 0o1600))
    gone = attach(removed)
    result(libc.shmctl(removed, REMOVE, None))
    ctypes.memmove(gone, b"of nobody else", 15)
    alone = result(libc.shmget(KEY + 1, 100, 0o1600))
    place = attach(alone)
    ctypes.memmove(place, b"nobody", 7)
    libc.shmdt(ctypes.c_void_p(place))
    child = os.fork()
    if not child:
        while True:
            # It answers in the shared memory.
            asked = ctypes.c_int.from_address(write)
            ctypes.c_int.from_address(write + 4).value = asked.value
            libc.usleep(1000)
    count = ctypes.c_int.from_address(write)

    def observe():
        count.value += 1
        libc.usleep(500000)
        place = attach(alone)
        lone = ctypes.string_at(place)
        libc.shmdt(ctypes.c_void_p(place))
        rows = [table(each) for each in (number, removed, alone)]
        return {
            "shared": ctypes.string_at(read + SIZE - 16).decode(),
            "private": ctypes.string_at(gone).decode(),
            "alone": lone.decode(),
            "child": ctypes.c_int.from_address(read + 4).value == count.value,
            "mapped": mapped(),
            # Key, number, rights, size, attached, owner and group.
            "tables": [[*row[:4], *row[6:9]] for row in rows],
        }

    return observe
