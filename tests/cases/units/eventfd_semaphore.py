"""An eventfd that counts as a semaphore"""

import os

REFUSAL = "counts as a semaphore"
MUST = {"taken": 1, "left": 2}


def program():
    descriptor = os.eventfd(3, os.EFD_SEMAPHORE)

    def observe():
        taken = os.eventfd_read(descriptor)
        with open(f"/proc/self/fdinfo/{descriptor}") as stream:
            (line,) = (line for line in stream if line.startswith("eventfd-count:"))
        os.eventfd_write(descriptor, taken)
        return {"taken": taken, "left": int(line.split()[1], 16)}

    return observe
