"""A child in a user namespace of its own, as browsers and PrivateUsers= make it"""

import os
import signal

REFUSAL = "user namespace"
_NEW_USER = 0x10000000


def program():
    import ctypes

    child = os.fork()
    if not child:
        ctypes.CDLL(None).unshare(_NEW_USER)
        signal.pause()
    return lambda: {"alive": os.path.exists(f"/proc/{child}")}
