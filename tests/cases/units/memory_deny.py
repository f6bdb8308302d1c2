"""A unit with MemoryDenyWriteExecute="""

import ctypes

from service import libc

SERVICE = "MemoryDenyWriteExecute=yes"
MUST = {"executable": False}


def program():
    libc.mmap.restype = ctypes.c_void_p

    def observe():
        # Readable, writable and executable at once
        begin = libc.mmap(None, ctypes.c_size_t(4096), 7, 0x22, -1, 0)
        return {"executable": begin not in (None, ctypes.c_void_p(-1).value)}

    return observe
