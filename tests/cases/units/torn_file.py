"""Memory that must agree with a file of fixed size, as a database's pages"""

import os
import struct
import threading
import time

WAYS = ("update", "fallback", "panic")
FRESH = True
PATH = "/var/lib/case-torn-file"


def program():
    with open(PATH, "wb") as file:
        file.write(bytes(8192))
    file = os.open(PATH, os.O_RDWR)
    torn = []

    def work():
        number = 0
        while True:
            (found,) = struct.unpack("Q", os.pread(file, 8, 0))
            if found != number and len(torn) < 5:
                torn.append([number, found])
            number = max(number, found) + 1
            os.pwrite(file, struct.pack("Q", number), 0)
            os.fsync(file)
            time.sleep(0.2)

    threading.Thread(target=work, daemon=True).start()
    return lambda: {"torn": torn}
