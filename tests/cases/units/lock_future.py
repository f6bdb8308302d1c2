"""A process that locks its memory, also what it maps later (mlockall), as chrony and Vault do"""

import mmap
import re

from service import libc

SERVICE = "LimitMEMLOCK=infinity"
MCL_CURRENT, MCL_FUTURE = 1, 2
MUST = {"later": 1024}


def locked():
    with open("/proc/self/status", encoding="utf-8") as status:
        return int(re.search(r"^VmLck:\s+(\d+)", status.read(), re.MULTILINE)[1])


def program():
    libc.mlockall(MCL_CURRENT | MCL_FUTURE)

    def observe():
        before = locked()
        with mmap.mmap(-1, 1 << 20):
            return {"later": locked() - before, "some": before > 0}

    return observe
