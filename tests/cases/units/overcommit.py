"""A reserved mapping larger than the memory of the node, with vm.overcommit_memory raised, as MariaDB has"""

import ctypes
import mmap

from service import kernel, libc

SETUP = "sysctl -qw vm.overcommit_memory=1"
MUST = {"mapped": True, "overcommit": 1}


def program():
    libc.mmap.restype = ctypes.c_void_p
    # 64 GiB, private and writable
    begin = libc.mmap(None, ctypes.c_size_t(1 << 36), mmap.PROT_READ | mmap.PROT_WRITE, 0x22, -1, 0)
    mapped = begin not in (None, ctypes.c_void_p(-1).value)
    if mapped:
        ctypes.memset(begin, 7, 4096)
    return lambda: {
        "mapped": mapped,
        "content": bool(mapped) and ctypes.string_at(begin, 1) == b"\7",
        "overcommit": kernel("vm/overcommit_memory"),
    }
