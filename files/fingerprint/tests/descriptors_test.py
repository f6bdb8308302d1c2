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
import time
import unittest

import recorded
from recorded import facts

NUMBER_OF_PIDFD_GETFD = 438
LIBC = ctypes.CDLL(None, use_errno=True)
# Opens one of each kind, tells its number, and waits.
TARGET = """
import ctypes, fcntl, json, os, select, socket, struct, sys, time
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
day = libc.timerfd_create(0, 0)
libc.timerfd_settime(day, 1, struct.pack("4q", 7, 0, int(time.time()) + 1000, 5), None)
over = libc.timerfd_create(1, 0)
libc.timerfd_settime(over, 1, struct.pack("4q", 0, 0, 0, 1), None)
os.read(over, 8)
watch = libc.inotify_init1(0)
libc.inotify_add_watch(watch, sys.argv[1].encode(), 0x4000100)
fired = select.epoll()
fired.register(other, select.EPOLLOUT | select.EPOLLONESHOT)
fired.poll()
folder = os.open(os.path.dirname(sys.argv[1]), os.O_RDONLY | os.O_DIRECTORY)
nameless = os.open(os.path.dirname(sys.argv[1]), os.O_RDWR | os.O_TMPFILE)
numbers = {
    "file": file, "folder": folder, "nameless": nameless, "fired": fired.fileno(), "socket": one.fileno(), "other": other.fileno(), "eventpoll": epoll.fileno(),
    "timerfd": timer, "day": day, "over": over, "inotify": watch,
    "eventfd": libc.eventfd(3, 1), "signalfd": libc.signalfd(-1, struct.pack("16Q", 1 << 9, *15 * [0]), 0), "pipe": os.pipe()[0],
}
print(json.dumps(numbers), flush=True)
sys.stdin.read()
"""


class Descriptors(recorded.Recorded):
    def setUp(self):
        super().setUp()
        self.file = f"{self.directory}/file"
        self.target = subprocess.Popen(
            ["/usr/bin/python3", "-c", TARGET, self.file],
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
        return {int(line.split()[2]): line for line in super().record("descriptor")}

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

    def maps(self):
        with open(f"/proc/{self.pid}/maps", encoding="ascii") as stream:
            return [row.split()[0] for row in stream]

    def told(self, kind):
        return facts(self.record()[self.numbers[kind]])

    def test_what_is_told_of_each_kind(self):
        one, other = self.numbers["socket"], self.numbers["other"]
        watched = sorted((f"{one},events:,1,data:,", f"{other},events:,4,data:,"))
        found = {kind: self.told(kind) for kind in self.numbers if kind not in ("socket", "other")}
        kinds = {"folder": "file", "nameless": "file", "fired": "eventpoll", "day": "timerfd", "over": "timerfd"}
        for kind, each in found.items():
            self.assertEqual(each["kind"], kinds.get(kind, kind))
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
                self.write(f"kup-fingerprint 3\n{line.replace(word, f'{name}=none')}\n")
                found = self.compare()
                self.assertEqual(found, [f"process {self.pid} descriptor {number}: {name} is {value}, was none"])

    def timer(self, kind):
        """(interval, time that is left) of a timer, in seconds; ticks that wait."""
        value = (ctypes.c_long * 4)()
        self.assertEqual(LIBC.timerfd_gettime(self.copy(kind), value), 0)
        with open(f"/proc/{self.pid}/fdinfo/{self.numbers[kind]}", encoding="ascii") as stream:
            ticks = next(int(line.split()[1]) for line in stream if line.startswith("ticks:"))
        return value[0], value[2] + value[3] / 1e9, ticks

    def set_timer(self, kind, flags, interval, seconds):
        new = (ctypes.c_long * 4)(interval, 0, int(seconds), int(seconds % 1 * 1e9))
        self.assertEqual(LIBC.timerfd_settime(self.copy(kind), flags, new, None), 0)

    def test_a_timer_of_the_day_is_not_late_and_one_that_is_over_does_not_fire(self):
        lines = super().record("timer")
        self.assertEqual([int(line.split()[2]) for line in sorted(lines)], [self.numbers["day"], self.numbers["over"]])
        before = self.timer("day")
        self.assertEqual(self.compare(), [])
        # What CRIU makes of them after an outage of half a minute.
        self.set_timer("day", 1, 7, time.time() + before[1] + 30)
        self.set_timer("over", 1, 0, 0.000000001)
        self.assertEqual(self.timer("over"), (0, 0, 1))
        self.assertEqual(self.compare(), [])
        interval, left, ticks = self.timer("day")
        self.assertEqual((interval, ticks), (7, 0))
        self.assertAlmostEqual(left, before[1], delta=5)
        self.assertEqual(self.timer("over"), (0, 0, 0))

    def test_ticks_that_wait_are_kept(self):
        self.set_timer("over", 1, 0, 0.000000001)
        super().record("timer")
        self.set_timer("over", 1, 0, 10**9)
        self.assertEqual(self.compare(), [])
        self.assertEqual(self.timer("over"), (0, 0, 1))

    def test_a_broken_line_of_a_timer_is_told(self):
        number = self.numbers["day"]
        for words in (
            "at=x interval=0.000000000 flags=1 ticks=0",
            "at=5.1 interval=0.000000000 flags=1 ticks=0",
            "at=off flags=1",
        ):
            self.write(f"kup-fingerprint 3\ntimer {self.pid} {number} {words}\n")
            self.assertEqual(
                self.compare(), [f"process {self.pid} descriptor {number}: its timer could not be set again"]
            )

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
        self.write(f"kup-fingerprint 3\n{line.replace('flags=02000000', 'flags=02004001')}\n")
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

    def test_record_locks_are_taken_again(self):
        before = self.told("file")["lock"]
        locks = sorted([*before.split(";"), "POSIX,ADVISORY,READ,40,40", "POSIX,ADVISORY,WRITE,100,EOF"])
        line = self.record()[self.numbers["file"]]
        self.write(f"kup-fingerprint 3\n{line.replace(before, ';'.join(locks))}\n")
        maps = self.maps()
        self.assertEqual(self.compare(), [])
        self.assertEqual(self.told("file")["lock"].split(";"), locks)
        self.assertEqual(self.maps(), maps)

    def test_a_record_lock_that_another_process_has_meanwhile_is_told(self):
        before = self.told("file")["lock"]
        line = self.record()[self.numbers["file"]]
        for missing in (
            "READ,40,40",
            "WRITE,40,40",
            "READ,40",
            "READ,x,40",
            "READ,9,4",
            "-",
            "WRITE,99999999999999999999,EOF",
        ):
            self.write(f"kup-fingerprint 3\n{line.replace(before, f'{before};POSIX,ADVISORY,{missing}')}\n")
            with open(self.file, "r+", encoding="ascii") as other:
                fcntl.lockf(other, fcntl.LOCK_EX, 1, 40)
                (found,) = self.compare()
            self.assertTrue(found.endswith(f"lock is {before}, was {before};POSIX,ADVISORY,{missing}"), found)

    def test_how_a_file_was_made_is_not_compared(self):
        self.assertEqual(self.told("nameless")["flags"], "02100002")
        self.assertEqual(self.told("folder")["flags"], "02100000")

    def test_what_an_epoll_watches_for_in_any_case_is_not_compared(self):
        self.assertIn("events:,40000000,", self.told("fired")["tfd"])

    def test_what_an_older_kernel_does_not_tell_is_no_difference(self):
        line = self.record()[self.numbers["pipe"]]
        self.write(f"kup-fingerprint 3\n{line} eventfd-semaphore=1 other=1\n")
        self.assertEqual(
            self.compare(), [f"process {self.pid} descriptor {self.numbers['pipe']}: other is not told, was 1"]
        )

    def test_one_that_is_not_there(self):
        self.record()
        self.write(f"kup-fingerprint 3\ndescriptor {self.pid} 900 kind=file\n")
        self.assertEqual(self.compare(), [f"process {self.pid} descriptor 900: it is not there"])

    def test_a_process_that_runs_may_have_changed_all_of_it(self):
        self.record()
        self.write(f"kup-fingerprint 3\ndescriptor {self.pid} 900 kind=file\n")
        self.target.send_signal(signal.SIGCONT)
        os.waitid(os.P_PID, self.pid, os.WCONTINUED)
        self.assertEqual(self.compare(), [])


if __name__ == "__main__":
    recorded.PROGRAM = sys.argv.pop(1)
    unittest.main()
