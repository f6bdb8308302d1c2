"""A record lock of a child process on a file that its parent has opened, as PHP's opcache has them"""

import fcntl
import os
import struct

PATH = "/var/tmp/case-inherited-lock"
# struct flock of 64-bit systems
LAYOUT = "hhqqi4x"
MUST = {"locked": True}


def program():
    file = os.open(PATH, os.O_RDWR | os.O_CREAT, 0o600)
    os.unlink(PATH)
    told, tell = os.pipe()
    ended, _end = os.pipe()
    child = os.fork()
    if not child:
        os.close(_end)
        fcntl.lockf(file, fcntl.LOCK_SH, 1, 1)
        os.write(tell, b"l")
        os.read(ended, 1)
        os._exit(0)
    os.read(told, 1)

    def observe():
        wish = struct.pack(LAYOUT, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _whence, start, length, owner = struct.unpack(LAYOUT, fcntl.fcntl(file, fcntl.F_GETLK, wish))
        return {"locked": kind == fcntl.F_RDLCK and owner == child, "start": start, "length": length}

    return observe
