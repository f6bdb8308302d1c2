# SPDX-License-Identifier: GPL-3.0-or-later
"""System V objects of `environment apply` and `forget`, in an IPC namespace of its own: ipc_test.py PROGRAM."""

import ctypes
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "environment"
IN_NAMESPACE = "KUP_IPC_TEST"
# Of no process, most probably.
PID = int(pathlib.Path("/proc/sys/kernel/pid_max").read_text(encoding="ascii")) - 40
SHM_DEST, SHM_LOCKED = 0o1000, 0o2000

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
libc.shmdt.argtypes = [ctypes.c_void_p]


def rows(kind):
    lines = pathlib.Path(f"/proc/sysvipc/{kind}").read_text(encoding="ascii").splitlines()
    names = lines[0].split()
    return [dict(zip(names, line.split(), strict=True)) for line in lines[1:]]


def memory(number, size):
    address = libc.shmat(number, None, 0)
    try:
        return ctypes.string_at(address, size)
    finally:
        libc.shmdt(address)


class Ipc(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.addCleanup(temporary.cleanup)
        self.addCleanup(lambda: subprocess.run(["ipcrm", "--all"], check=True))
        self.root = pathlib.Path(temporary.name)
        (self.root / "contents").mkdir()

    def content(self, name, data):
        (self.root / f"contents/{name}").write_bytes(data)

    def run_program(self, *steps, verb=("apply",), code=0):
        plan = self.root / "all.plan"
        plan.write_text("".join(f"{line}\n" for line in ("kup-environment 1", *steps)))
        plan.chmod(0o600)
        options = ["--run", self.root] if verb[0] == "apply" else []
        done = subprocess.run([PROGRAM, *verb, *options, plan], capture_output=True, text=True, check=False)
        log = self.root / "environment.log"
        self.assertEqual(done.returncode, code, done.stderr + (log.read_text() if log.exists() else ""))
        return done.stderr

    def test_memory_comes_back(self):
        self.content(1, b"content" + bytes(20))
        step = f"memory required a.service 65539 4660 640 1 2 3 4 5000 {PID} 1"
        self.run_program(step)
        (row,) = rows("shm")
        have = [row[name] for name in ("key", "shmid", "perms", "size", "cpid", "uid", "gid", "cuid", "cgid")]
        self.assertEqual(have, ["4660", "65539", "640", "5000", str(PID), "1", "2", "3", "4"])
        self.assertEqual(memory(65539, 8), b"content\0")
        # An early boot that is repeated.
        self.run_program(step)
        self.assertEqual(len(rows("shm")), 1)

    def test_semaphores_come_back_with_who_changed_them(self):
        values = ((1, PID), (0, 0), (7, PID + 1), (0, PID), (32767, PID))
        self.content(1, b"".join(struct.pack("=II", *each) for each in values))
        self.run_program("semaphores required a.service 9 4294967295 600 1 1 1 1 5 1")
        (row,) = rows("sem")
        self.assertEqual((row["key"], row["semid"], row["nsems"], row["cuid"]), ("-1", "9", "5", "1"))
        have = tuple((libc.semctl(9, each, 12), libc.semctl(9, each, 11)) for each in range(5))
        self.assertEqual(have, values)

    def test_a_pid_that_is_taken_is_no_obstacle(self):
        self.content(1, struct.pack("=II", 3, os.getpid()))
        self.run_program("semaphores required a.service 9 0 600 0 0 0 0 1 1")
        self.assertEqual(libc.semctl(9, 0, 12), 3)

    def queue(self, messages, sender=PID, receiver=PID + 1):
        text = b"".join(struct.pack("=qI", kind, len(data)) + data for kind, data in messages)
        self.content(2, text)
        return f"queue required a.service 4 77 622 1 1 0 0 16000 {sender} {receiver} 2"

    def test_queues_come_back_with_their_messages(self):
        messages = [(5, b"five"), (1, b""), (2**40, b"\0" * 3000)]
        self.run_program(self.queue(messages))
        (row,) = rows("msg")
        have = [row[name] for name in ("key", "msqid", "perms", "qnum", "lspid", "lrpid", "uid", "cuid")]
        self.assertEqual(have, ["77", "4", "622", "3", str(PID), str(PID + 1), "1", "0"])
        buffer = ctypes.create_string_buffer(8192)
        for kind, data in messages:
            self.assertEqual(libc.msgrcv(4, buffer, 8184, 0, 0o4000), len(data))
            self.assertEqual(buffer.raw[: 8 + len(data)], struct.pack("=q", kind) + data)

    def test_an_empty_queue_knows_its_last_users(self):
        self.run_program(self.queue([]))
        (row,) = rows("msg")
        self.assertEqual((row["qnum"], row["lspid"], row["lrpid"]), ("0", str(PID), str(PID + 1)))

    def test_nothing_is_left_of_what_is_broken(self):
        self.content(1, bytes(9))
        steps = ["semaphores required a.service 9 0 600 0 0 0 0 2 1"]
        self.content(2, struct.pack("=qI", 1, 2000) + b"short")
        steps += [
            "queue required b.service 4 77 622 1 1 0 0 40000 0 0 2",
            "memory required c.service 1 1 600 0 0 0 0 8 0 1",
        ]
        steps += [
            "memory required d.service x 1 600 0 0 0 0 8 0 1",
            "memory required d.service 1 1 600 0 0 0 0 8 0 ../x",
        ]
        steps += ["settle required d.service 1 none 1 600", "segment required d.service -1"]
        self.run_program(*steps, code=3)
        self.assertEqual([rows(kind) for kind in ("shm", "sem", "msg")], [[], [], []])
        self.assertEqual(len(list(self.root.glob("*.lacks"))), 4)

    def test_a_number_that_is_taken_is_an_obstacle(self):
        self.content(1, b"")
        taken = libc.shmget(0, 1, 0o1600)
        self.run_program(f"memory required a.service {taken} 5 600 0 0 0 0 8 0 1", code=3)
        self.assertEqual([row["shmid"] for row in rows("shm")], [str(taken)])

    def test_the_number_of_a_segment_is_not_given_to_others(self):
        for number in (3, 40, 32768 + 50):
            with self.subTest(number):
                self.run_program(f"segment required a.service {number}")
                self.assertEqual(rows("shm"), [])
                others = [libc.shmget(0, 1, 0o1600) % 32768 for _number in range(5)]
                self.assertNotIn(number % 32768, others)
                subprocess.run(["ipcrm", "--all"], check=True)

    def test_what_was_removed_or_locked_is_so_again(self):
        number = libc.shmget(0, 4096, 0o1600)
        address = libc.shmat(number, None, 0)
        self.run_program(f"settle optional a.service {number} memory 0 {SHM_DEST | SHM_LOCKED | 0o600:o}")
        self.assertEqual([row["perms"] for row in rows("shm")], ["3600"])
        libc.shmdt(address)
        self.assertEqual(rows("shm"), [])

    def test_what_a_unit_leaves_is_removed(self):
        numbers = (libc.shmget(11, 1, 0o1600), libc.semget(12, 1, 0o1600), libc.msgget(13, 0o1600))
        kinds = ("memory", "semaphores", "queue")
        other = libc.msgget(14, 0o1600)
        steps = [f"settle optional a.service {numbers[i]} {kinds[i]} {11 + i} 600" for i in range(3)]
        steps += [f"settle optional a.service {other} queue 15 600", "settle optional a.service 777 memory 1 600"]
        self.run_program(*steps, verb=("forget",))
        self.assertEqual(
            [[row[name] for row in rows(kind)] for kind, name in (("shm", "shmid"), ("sem", "semid"))], [[], []]
        )
        self.assertEqual([row["msqid"] for row in rows("msg")], [str(other)])


if __name__ == "__main__":
    if os.geteuid():
        sys.exit("ipc_test.py needs root: it makes an IPC namespace.")
    if IN_NAMESPACE not in os.environ:
        command = ["unshare", "--ipc", sys.executable, __file__, PROGRAM, *sys.argv[1:]]
        os.execvpe(command[0], command, {**os.environ, IN_NAMESPACE: "1"})
    unittest.main()
