"""A large file that is open and has no name any more"""

import os

REFUSAL = "deleted|no name"
UNSEEN = True
SIZE = 72 << 20


def program():
    path = "/var/tmp/case-deleted-large"
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    for _number in range(SIZE >> 20):
        os.write(file, os.urandom(1 << 20))
    os.unlink(path)
    return lambda: {"size": os.fstat(file).st_size}
