"""A child that its parent traces, as a debugger does"""

import ctypes
import os
import signal

REFUSAL = "traced"
UNSEEN = True
_SEIZE = 0x4206


def program():
    child = os.fork()
    if not child:
        signal.pause()
    ctypes.CDLL(None).ptrace(_SEIZE, child, None, None)

    def observe():
        with open(f"/proc/{child}/status", encoding="utf-8") as file:
            return {"tracer": next(line.split()[1] for line in file if line.startswith("TracerPid"))}

    return observe
