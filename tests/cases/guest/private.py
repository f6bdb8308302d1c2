"""Files of all kinds in directories that only the unit sees: private_tmp and private_memory."""

import ctypes
import mmap
import os
import pathlib
import socket
import stat
import threading

from service import greet, greeting

#: What `observe` finds of a closed file.
RIGHTS = ["104640", 7, 8, "here"]
NAMES = ["closed", "deep", "fifo", "hard", "link", "mapped", "open", "socket", "watched"]


def begin(*points):
    """Use files at all POINTS; return a function that returns what the application observes of them."""
    parts = [_begin(pathlib.Path(point)) for point in points]
    os.chdir(f"{points[-1]}/deep")

    def observe():
        with open("/proc/self/mountinfo", encoding="ascii") as file:
            rows = [row.split() for row in file]
        found = [part() for part in parts]
        return {
            "private": sorted({row[4] for row in rows if row[4] in points}),
            "directory": [os.getcwd(), os.path.samefile(".", f"{points[-1]}/deep")],
            **{key: [each[key] for each in found] for key in found[0]},
        }

    return observe


def _begin(place):
    (place / "deep/er").mkdir(parents=True)
    os.chmod(place / "deep", 0o2711)
    (place / "closed").write_text("closed", encoding="ascii")
    os.chown(place / "closed", 7, 8)
    os.chmod(place / "closed", 0o4640)
    os.setxattr(place / "closed", "trusted.case", b"here")
    os.utime(place / "closed", ns=(5, 1700000000123456789))
    os.link(place / "closed", place / "hard")
    os.symlink("closed", place / "link")
    os.mkfifo(place / "fifo", 0o620)
    (place / "watched").touch()
    opened = os.open(place / "open", os.O_CREAT | os.O_RDWR)
    os.write(opened, b"first")
    fifo = os.open(place / "fifo", os.O_RDWR | os.O_NONBLOCK)
    with (place / "mapped").open("wb+") as shared:
        shared.truncate(1 << 16)
        memory = mmap.mmap(shared.fileno(), 1 << 16)
    memory[4096:4100] = b"here"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place / "socket"))
    listener.listen(16)
    threading.Thread(target=greet, args=(listener,), daemon=True).start()
    watches = ctypes.CDLL(None).inotify_init1(os.O_NONBLOCK)
    ctypes.CDLL(None).inotify_add_watch(watches, os.fsencode(place / "watched"), 2)  # IN_MODIFY

    def observe():
        os.pwrite(opened, b"again", 0)
        memory[0] = (memory[0] + 1) % 256
        (place / "watched").write_text("x", encoding="ascii")
        again = os.open(place / "fifo", os.O_WRONLY | os.O_NONBLOCK)
        os.write(again, b"through")
        os.close(again)
        status = os.stat(place / "closed")
        return {
            "names": sorted(os.listdir(place)) == NAMES,
            "open": (place / "open").read_bytes() == b"again"
            and os.path.samestat(os.fstat(opened), os.stat(place / "open")),
            "mapped": (place / "mapped").read_bytes() == memory[:] and memory[4096:4100] == b"here",
            "closed": (place / "link").read_text(encoding="ascii"),
            "rights": [
                *(f"{status.st_mode:o}", status.st_uid, status.st_gid),
                os.getxattr(place / "closed", "trusted.case").decode("ascii"),
            ],
            "time": status.st_mtime_ns,
            "hard": os.path.samefile(place / "hard", place / "closed"),
            "deep": [f"{os.stat(place / name).st_mode:o}" for name in (".", "deep", "deep/er", "fifo")],
            "fifo": [os.read(fifo, 99).decode("ascii"), stat.S_ISFIFO(os.stat(place / "fifo").st_mode)],
            "socket": greeting(str(place / "socket")),
            "watched": bool(os.read(watches, 4096)),
        }

    return observe
