"""A lock of an open file (F_OFD_SETLK), which no process owns, and one of flock(2) whose process has ended"""

import fcntl
import os
import struct

PATH = "/var/tmp/case-open-file-lock"
# struct flock of 64-bit systems
LAYOUT = "hhqqi4x"
F_OFD_GETLK, F_OFD_SETLK = 36, 37
MUST = {"owned": True, "excluded": True}


def program():
    file = os.open(PATH, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.fcntl(file, F_OFD_SETLK, struct.pack(LAYOUT, fcntl.F_WRLCK, os.SEEK_SET, 3, 4, 0))
    child = os.fork()
    if not child:
        fcntl.flock(file, fcntl.LOCK_EX)
        os._exit(0)
    os.waitpid(child, 0)

    def observe():
        other = os.open(PATH, os.O_RDWR)
        wish = struct.pack(LAYOUT, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        found = struct.unpack(LAYOUT, fcntl.fcntl(other, F_OFD_GETLK, wish))
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            excluded = False
        except BlockingIOError:
            excluded = True
        os.close(other)
        return {"owned": found[4] == -1, "range": found[2:4], "excluded": excluded}

    return observe
