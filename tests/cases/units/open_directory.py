"""Directories that are open: one that is read halfway, one that is only a place to begin from, one that was removed"""

import ctypes
import os

from service import libc

PLACE = "/var/lib/case-open-directory"
COUNT = 100
SETUP = f"rm -rf {PLACE}; mkdir -p {PLACE}/gone; cd {PLACE} && touch $(seq {COUNT})"
# "." and ".." are names, too.
MUST = {"names": COUNT + 2, "twice": 0, "place": COUNT + 2, "gone": 0}
_GETDENTS64 = 217
_READ = 1024


def read_some(directory):
    """Return names of an open directory, beginning where it has been read to; none at its end."""
    buffer = ctypes.create_string_buffer(_READ)
    count, names = libc.syscall(_GETDENTS64, directory, buffer, _READ), []
    left = buffer.raw[: max(0, count)]
    # struct linux_dirent64: inode, offset, length of all, type, name.
    while left:
        length = int.from_bytes(left[16:18], "little")
        names.append(left[19:length].split(b"\0")[0].decode())
        left = left[length:]
    return names


def program():
    half, place = (
        os.open(PLACE, os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK),
        os.open(PLACE, os.O_PATH | os.O_DIRECTORY),
    )
    gone = os.open(f"{PLACE}/gone", os.O_RDONLY | os.O_DIRECTORY)
    os.rmdir(f"{PLACE}/gone")
    begun, halfway = read_some(half), os.lseek(half, 0, os.SEEK_CUR)

    def observe():
        at, names = os.lseek(half, 0, os.SEEK_CUR), list(begun)
        while more := read_some(half):
            names += more
        os.lseek(half, halfway, os.SEEK_SET)
        return {
            "at": at,
            "names": len(names),
            "twice": len(names) - len(set(names)),
            "place": len(os.listdir(f"/proc/self/fd/{place}")) + 2,
            "gone": os.fstat(gone).st_nlink,
        }

    return observe
