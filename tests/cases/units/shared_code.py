"""Executable memory that is shared and comes first in the address space, as that of PHP's JIT"""

import ctypes

REFUSAL = "executable"
UNSEEN = True
_PLACE, _SIZE = 0x200000, 4096
_READ_EXECUTE, _SHARED_ANONYMOUS_FIXED = 5, 0x31


def program():
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    place = libc.mmap(_PLACE, _SIZE, _READ_EXECUTE, _SHARED_ANONYMOUS_FIXED, -1, 0)
    return lambda: {"place": place}
