"""A performance event of the kernel, as profilers have"""

import ctypes
import os
import struct

REFUSAL = "perf_event"
UNSEEN = True
_OPEN = 298  # perf_event_open(2) on x86
_SOFTWARE, _SIZE = 1, 64  # of the attributes' first version: the processor clock


def program():
    attributes = struct.pack("II", _SOFTWARE, _SIZE).ljust(_SIZE, b"\0")
    event = ctypes.CDLL(None).syscall(_OPEN, attributes, 0, -1, -1, 0)
    return lambda: {"event": os.readlink(f"/proc/self/fd/{event}") if event >= 0 else "none"}
