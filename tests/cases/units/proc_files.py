"""An open file that tells of a process which is not carried, as monitors have them"""

import os
import subprocess
import time

REFUSAL = "which is not carried"


def peer():
    time.sleep(10**6)


def program():
    show = ["systemctl", "show", "--value", "--property=MainPID", "peer-proc-files.service"]
    other = subprocess.run(show, capture_output=True, check=True, text=True).stdout.strip()
    held = os.open(f"/proc/{other}/stat", os.O_RDONLY)
    return lambda: {"open": os.readlink(f"/proc/self/fd/{held}") == f"/proc/{other}/stat"}
