"""A main process with a parent death signal, as supervisors set it"""

import ctypes

from service import libc


def program():
    libc.prctl(1, 15)  # PR_SET_PDEATHSIG, SIGTERM

    def observe():
        signal = ctypes.c_int()
        libc.prctl(2, ctypes.byref(signal))
        return {"signal": signal.value}

    return observe
