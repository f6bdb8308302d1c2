"""Files in memory that are open, mapped or closed, in /tmp, /dev/shm and /run, in directories that tmpfiles.d would empty and alter"""

import mmap
import os
import pathlib

TMP = pathlib.Path("/tmp/case-memory-files")
SHM = pathlib.Path("/dev/shm/case-memory-files")
PID = pathlib.Path("/run/case-memory-files.pid")
FILES = {
    "/etc/tmpfiles.d/case-memory-files.conf": (
        "D! /tmp/case-memory-files 0755 root root -\nR! /dev/shm/case-memory-*\nr! /run/case-memory-files.pid\n"
    )
}


def program():
    TMP.mkdir(mode=0o711, exist_ok=True)
    (TMP / "closed").write_text("closed", encoding="ascii")
    os.chmod(TMP / "closed", 0o4640)
    os.chown(TMP / "closed", 7, 8)
    os.symlink("closed", TMP / "link")
    file = os.open(TMP / "open", os.O_CREAT | os.O_RDWR)
    os.write(file, b"first")
    with SHM.open("wb+") as shared:
        shared.truncate(1 << 16)
        memory = mmap.mmap(shared.fileno(), 1 << 16)
    memory[4096:4100] = b"here"
    PID.write_text(f"{os.getpid()}\n", encoding="ascii")
    times = [path.stat().st_mtime_ns for path in (TMP / "closed", PID)]

    def observe():
        os.pwrite(file, b"again", 0)
        memory[0] = (memory[0] + 1) % 256
        status = os.stat(TMP / "closed")
        with SHM.open("rb") as again:
            content = again.read()
        return {
            "open": (TMP / "open").read_bytes() == b"again",
            "mapped": content == memory[:],
            "kept": memory[4096:4100] == b"here",
            "closed": (TMP / "link").read_text(encoding="ascii"),
            "rights": [f"{status.st_mode:o}", status.st_uid, status.st_gid, f"{os.stat(TMP).st_mode:o}"],
            "times": times == [path.stat().st_mtime_ns for path in (TMP / "closed", PID)],
            "pid": PID.read_text(encoding="ascii") == f"{os.getpid()}\n",
        }

    return observe
