"""An idle io_uring, as MariaDB and node.js have"""

import ctypes
import os

REFUSAL = "io_uring"
UNSEEN = True
_SETUP, _PARAMETERS = 425, 120  # io_uring_setup(2) on x86


def program():
    ring = ctypes.CDLL(None).syscall(_SETUP, 8, ctypes.create_string_buffer(_PARAMETERS))
    return lambda: {"ring": os.readlink(f"/proc/self/fd/{ring}") if ring >= 0 else "none"}
