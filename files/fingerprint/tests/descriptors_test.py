# SPDX-License-Identifier: GPL-3.0-or-later
"""Descriptors that are not what they were: descriptors_test.py PROGRAM

A restore is played: somebody changes a descriptor of a process that stands still, or the record is changed.
"""

import ctypes
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None
NUMBER_OF_PIDFD_GETFD = 438
LIBC = ctypes.CDLL(None, use_errno=True)
# Opens one of each kind, tells its number, and waits.
TARGET = """
import ctypes, fcntl, json, os, select, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_APPEND)
fcntl.flock(file, fcntl.LOCK_EX)
fcntl.lockf(file, fcntl.LOCK_SH, 10, 5)
os.write(file, b"0123456789")
one, other = socket.socketpair()
epoll = select.epoll()
epoll.register(other, select.EPOLLOUT)
epoll.register(one, select.EPOLLIN)
timer = libc.timerfd_create(1, 0)
libc.timerfd_settime(timer, 0, struct.pack("4q", 5, 0, 100, 0), None)
watch = libc.inotify_init1(0)
libc.inotify_add_watch(watch, sys.argv[1].encode(), 0x100)
numbers = {
    "file": file, "socket": one.fileno(), "other": other.fileno(), "eventpoll": epoll.fileno(), "timerfd": timer, "inotify": watch,
    "eventfd": libc.eventfd(3, 1), "signalfd": libc.signalfd(-1, struct.pack("16Q", 1 << 9, *15 * [0]), 0), "pipe": os.pipe()[0],
}
print(json.dumps(numbers), flush=True)
sys.stdin.read()
"""


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)


def facts(line):
    """The facts of a line, as a dict."""
    return dict(word.split("=", 1) for word in line.split() if "=" in word)


class Descriptors(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = f"{directory.name}/record"
        self.target = subprocess.Popen(
            ["/usr/bin/python3", "-c", TARGET, f"{directory.name}/file"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(self.target.communicate)
        self.pid = self.target.pid
        self.numbers = json.loads(self.target.stdout.readline())
        self.target.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED)
        self.addCleanup(self.target.send_signal, signal.SIGCONT)

    def record(self):
        done = run("record", str(self.pid))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.write(done.stdout)
        lines = [line for line in done.stdout.splitlines() if line.startswith("descriptor ")]
        return {int(line.split()[2]): line for line in lines}

    def write(self, text):
        with open(self.path, "w", encoding="ascii") as stream:
            stream.write(text)

    def compare(self):
        done = run("put-right", self.path)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 3 if done.stdout else 0)
        return done.stdout.splitlines()

    def copy(self, kind):
        """A copy of the descriptor, of the same open file."""
        process = os.pidfd_open(self.pid)
        try:
            copy = LIBC.syscall(NUMBER_OF_PIDFD_GETFD, process, self.numbers[kind], 0)
        finally:
            os.close(process)
        self.assertGreaterEqual(copy, 0)
        self.addCleanup(os.close, copy)
        return copy

    def told(self, kind):
        return facts(self.record()[self.numbers[kind]])

    def test_what_is_told_of_each_kind(self):
        one, other = self.numbers["socket"], self.numbers["other"]
        watched = sorted((f"{one},events:,19,data:,", f"{other},events:,1c,data:,"))
        found = {kind: self.told(kind) for kind in self.numbers if kind not in ("socket", "other")}
        for kind, each in found.items():
            self.assertEqual(each["kind"], kind)
        self.assertEqual(found["file"]["lock"], "FLOCK,ADVISORY,WRITE,0,EOF;POSIX,ADVISORY,READ,5,14")
        self.assertEqual(found["file"]["pos"], "10")
        parts = found["eventpoll"]["tfd"].split(";")
        self.assertTrue(all(part.startswith(begin) for part, begin in zip(parts, watched, strict=True)), parts)
        self.assertEqual((found["eventfd"]["eventfd-count"], found["timerfd"]["it_interval"]), ("3", "(5,,0)"))
        self.assertEqual(found["inotify"]["inotify"], "wd:1,mask:100,ignored_mask:0")
        self.assertEqual(found["signalfd"]["sigmask"], f"{1 << 9:016x}")
        self.assertEqual(self.compare(), [])

    def test_each_fact_is_compared(self):
        for number, line in self.record().items():
            for word in line.split()[3:]:
                name, value = word.split("=", 1)
                self.write(f"kup-fingerprint 2\n{line.replace(word, f'{name}=none')}\n")
                found = self.compare()
                self.assertEqual(found, [f"process {self.pid} descriptor {number}: {name} is {value}, was none"])

    def test_flags_are_set_again(self):
        for kind, flag in (("socket", os.O_NONBLOCK), ("file", os.O_APPEND), ("pipe", os.O_NONBLOCK)):
            copy = self.copy(kind)
            self.record()
            before = fcntl.fcntl(copy, fcntl.F_GETFL)
            fcntl.fcntl(copy, fcntl.F_SETFL, before ^ flag)
            self.assertEqual(self.compare(), [])
            self.assertEqual(fcntl.fcntl(copy, fcntl.F_GETFL), before)

    def test_flags_that_nobody_can_set_are_told(self):
        line = self.record()[self.numbers["pipe"]]
        self.write(f"kup-fingerprint 2\n{line.replace('flags=02000000', 'flags=02004001')}\n")
        (found,) = self.compare()
        self.assertTrue(found.endswith("flags is 02000000, was 02004001"), found)

    def test_a_place_in_a_file_and_a_lock_that_were_lost(self):
        copy = self.copy("file")
        self.record()
        os.lseek(copy, 3, os.SEEK_SET)
        fcntl.flock(copy, fcntl.LOCK_UN)
        where = f"process {self.pid} descriptor {self.numbers['file']}"
        self.assertEqual(
            sorted(self.compare()),
            [
                f"{where}: lock is POSIX,ADVISORY,READ,5,14, was FLOCK,ADVISORY,WRITE,0,EOF;POSIX,ADVISORY,READ,5,14",
                f"{where}: pos is 3, was 10",
            ],
        )

    def test_what_an_older_kernel_does_not_tell_is_no_difference(self):
        line = self.record()[self.numbers["pipe"]]
        self.write(f"kup-fingerprint 2\n{line} eventfd-semaphore=1 other=1\n")
        self.assertEqual(
            self.compare(), [f"process {self.pid} descriptor {self.numbers['pipe']}: other is not told, was 1"]
        )

    def test_one_that_is_not_there(self):
        self.record()
        self.write(f"kup-fingerprint 2\ndescriptor {self.pid} 900 kind=file\n")
        self.assertEqual(self.compare(), [f"process {self.pid} descriptor 900: it is not there"])

    def test_a_process_that_runs_may_have_changed_all_of_it(self):
        self.record()
        self.write(f"kup-fingerprint 2\ndescriptor {self.pid} 900 kind=file\n")
        self.target.send_signal(signal.SIGCONT)
        os.waitid(os.P_PID, self.pid, os.WCONTINUED)
        self.assertEqual(self.compare(), [])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
