"""Output to /dev/null in a unit with mounts of its own (StandardOutput=null, PrivateTmp=)"""

import errno
import os

SERVICE = "PrivateTmp=yes\nStandardOutput=null\nStandardError=null"
MUST = {"written": [1, 1], "read": ""}


def write(descriptor):
    try:
        return os.write(descriptor, b"x")
    except OSError as error:
        return errno.errorcode[error.errno]


def program():
    def observe():
        return {"written": [write(1), write(2)], "read": os.read(0, 1).decode()}

    return observe
