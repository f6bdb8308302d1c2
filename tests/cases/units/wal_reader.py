"""A transaction of SQLite that reads, whose locks lie in a file that is mapped as well"""

import contextlib
import os
import sqlite3

PATH = "/var/lib/case-wal-reader.db"
MUST = {"locks": True}


def program():
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(PATH + suffix)
    # Out of SQLite's own transactions.
    reader = sqlite3.connect(PATH, isolation_level=None)
    reader.execute("PRAGMA journal_mode=WAL")
    reader.execute("CREATE TABLE t (n)")
    reader.execute("INSERT INTO t VALUES (1)")
    reader.execute("BEGIN")
    reader.execute("SELECT n FROM t").fetchall()

    def observe():
        inode = str(os.stat(PATH + "-shm").st_ino)
        with open("/proc/locks", encoding="ascii") as stream:
            rows = [row.split() for row in stream if f" {os.getpid()} " in row]
        locks = sorted((row[3], row[6], row[7]) for row in rows if row[5].endswith(f":{inode}"))
        return {"locks": bool(locks), "which": locks, "rows": reader.execute("SELECT n FROM t").fetchall()}

    return observe
