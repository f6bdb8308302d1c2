"""Memory that a child process finds empty, as libraries keep the state of random numbers in it"""

import ctypes
import mmap
import os

WIPE_ON_FORK = 18
MUST = {"empty": True, "same": False}


def in_child(function):
    """Return what FUNCTION returns in a child process, as bytes."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, function())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as stream:
        found = stream.read()
    os.waitpid(child, 0)
    return found


def random_numbers():
    libc = ctypes.CDLL(None)
    numbers = ctypes.create_string_buffer(16)
    libc.getrandom(numbers, 16, 0)
    return numbers.raw


def program():
    memory = mmap.mmap(-1, 3 * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.write(b"s" * len(memory))
    memory.madvise(WIPE_ON_FORK, mmap.PAGESIZE, mmap.PAGESIZE)
    random_numbers()

    def observe():
        second = slice(mmap.PAGESIZE, 2 * mmap.PAGESIZE)
        return {
            "kept": memory[:].count(b"s"),
            "empty": in_child(lambda: memory[second]) == bytes(mmap.PAGESIZE),
            "others": in_child(lambda: b"%d" % memory[:].count(b"s")).decode(),
            # From glibc 2.41 and kernel 6.11 on, both may have the same state.
            "same": in_child(random_numbers) == random_numbers(),
        }

    return observe
