"""An open device that has state of its own"""

import os

REFUSAL = "/dev/loop-control"
UNSEEN = True
SETUP = "modprobe loop"


def program():
    device = os.open("/dev/loop-control", os.O_RDWR)
    return lambda: {"device": os.readlink(f"/proc/self/fd/{device}")}
