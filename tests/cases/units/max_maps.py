"""More mappings than the kernel's default allows, as search engines have"""

import ctypes

from service import libc

FILES = {"/etc/sysctl.d/90-case-max-maps.conf": "vm.max_map_count = 262144\n"}
SETUP = "sysctl -qw vm.max_map_count=262144"
COUNT = 36000


def program():
    libc.mmap.restype = ctypes.c_void_p
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    begin = libc.mmap(None, ctypes.c_size_t(2 * COUNT * 4096), 0, 0x22, -1, 0)
    # Neighbours with different protections cannot be merged.
    for page in range(COUNT):
        libc.mprotect(begin + 2 * page * 4096, 4096, 1)

    def observe():
        with open("/proc/self/maps", "rb") as file:
            return {"mappings": sum(1 for _line in file) // 1000}

    return observe
