"""A closed pid file and a lock file in /run, which others read"""

import fcntl
import os
import pathlib

PLACE = pathlib.Path("/run/case-pid-file")


def program():
    PLACE.mkdir(mode=0o750, exist_ok=True)
    (PLACE / "pid").write_text(f"{os.getpid()}\n", encoding="ascii")
    lock = os.open(PLACE / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lambda: {"file": (PLACE / "pid").read_text(encoding="ascii") == f"{os.getpid()}\n"}


def look():
    try:
        with (PLACE / "lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return {"locked": False}
    except BlockingIOError:
        return {"locked": True}
    except OSError as error:
        return {"locked": str(error)}
