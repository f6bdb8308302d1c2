# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads that are not what they were, by what the kernel tells of them: threads_test.py PROGRAM

A restore is played: the process changes between record and comparison, or the record is changed.
"""

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import recorded
from recorded import facts, run

# A thread that does at each line what the line says, and then says so.
TARGET = """
import ctypes, os, queue, signal, struct, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
orders, done = queue.Queue(), queue.Queue()

def work():
    done.put(threading.get_native_id())
    while True:
        words = orders.get()
        if not words:
            return done.put(0)
        if words[0] == "groups":  # of this thread alone
            numbers = [int(word) for word in words[1:]]
            done.put(libc.syscall(116, len(numbers), struct.pack(f"{len(numbers)}I", *numbers)))
        elif words[0] == "ambient":  # to raise or lower a capability, which is inheritable first
            if words[1] == "2":
                header, sets = struct.pack("Ii", 0x20080522, 0), ctypes.create_string_buffer(24)
                libc.syscall(125, header, sets)
                effective, permitted, inheritable, *rest = struct.unpack("6I", sets.raw)
                sets = struct.pack("6I", effective, permitted, inheritable | 1 << int(words[2]), *rest)
                libc.syscall(126, header, sets)
            done.put(libc.prctl(47, int(words[1]), int(words[2]), 0, 0))
        elif words[0] == "timer":
            done.put(libc.syscall(222, 1, None, ctypes.byref(ctypes.c_int())))
        elif words[0] in ("block", "unblock"):
            how = signal.SIG_BLOCK if words[0] == "block" else signal.SIG_UNBLOCK
            signal.pthread_sigmask(how, [signal.SIGUSR1])
            done.put(0)
        elif words[0] == "suspend":  # for ever, with a mask for that time
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
            done.put(0)
            libc.sigsuspend(bytes(128))
        else:
            done.put(libc.prctl(38, 1, 0, 0, 0))

thread = threading.Thread(target=work)
thread.start()
print(done.get(), flush=True)
for line in sys.stdin:
    orders.put(line.split())
    print(done.get(), flush=True)
orders.put([])
"""


@unittest.skipUnless(os.getuid() == 0, "changes groups")
class Credentials(recorded.Recorded):
    def setUp(self):
        super().setUp()
        self.target = subprocess.Popen(
            ["/usr/bin/python3", "-c", TARGET],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            extra_groups=[24, 4],
            text=True,
        )
        self.addCleanup(self.target.communicate)
        self.pid, self.thread = self.target.pid, int(self.target.stdout.readline())
        self.where = f"process {self.pid} thread {self.thread}"

    def order(self, line):
        self.target.stdin.write(f"{line}\n")
        self.target.stdin.flush()
        return self.target.stdout.readline().strip()

    def record(self):
        return super().record("thread")

    def test_every_thread_has_its_own(self):
        self.assertEqual(self.order("privileges"), "0")
        self.assertEqual(self.order("groups"), "0")
        found = {line.split()[2]: facts(line) for line in self.record()}
        first, other = found[str(self.pid)], found[str(self.thread)]
        self.assertEqual([(each["NoNewPrivs"], each["Groups"]) for each in (first, other)], [("0", "4,24"), ("1", "-")])
        # Of the process as a whole the first thread tells.
        self.assertEqual(first["session"], str(os.getsid(0)))
        self.assertNotIn("session", other)
        self.assertEqual(self.compare(), [])

    def test_other_groups_are_told(self):
        self.record()
        for order, now in (("groups 4", "4"), ("groups", "-"), ("groups 24 5 4", "4,5,24")):
            self.assertEqual(self.order(order), "0")
            self.assertEqual(self.compare(), [f"{self.where}: Groups is {now}, was 4,24"])
        self.assertEqual(self.order("groups 24 4"), "0")
        self.assertEqual(self.compare(), [])

    def test_rights_that_were_lost_or_have_come_are_told(self):
        lines = self.record()
        self.order("privileges")
        self.assertEqual(self.compare(), [f"{self.where}: NoNewPrivs is 1, was 0"])
        text = "\n".join(["kup-fingerprint 3", *lines, ""])
        self.write(text.replace("NoNewPrivs=0", "NoNewPrivs=1"))
        self.assertIn(f"process {self.pid} thread {self.pid}: NoNewPrivs is 0, was 1", self.compare())

    def test_an_ambient_capability_that_was_lost_is_told_and_can_be_set(self):
        self.assertEqual(self.order("ambient 2 14"), "0")
        self.record()
        self.assertEqual(self.compare(), [])
        self.assertEqual(self.order("ambient 3 14"), "0")
        self.assertEqual(self.compare(), [f"{self.where}: CapAmb is {0:016x}, was 0000000000004000"])
        with tempfile.NamedTemporaryFile("w") as lines:
            lines.write(f"{self.thread} ambient 14\n")
            lines.flush()
            done = run("set", lines.name)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.compare(), [])

    def test_many_groups_are_one_word(self):
        numbers = range(1, 60001)
        self.assertEqual(self.order(f"groups {' '.join(map(str, numbers))}"), "0")
        groups = [facts(line)["Groups"] for line in self.record() if line.split()[2] == str(self.thread)]
        self.assertEqual(groups, [",".join(map(str, numbers))])
        self.assertEqual(self.compare(), [])

    def test_a_thread_that_has_ended_is_missed_where_the_process_has_not_run(self):
        self.assertEqual([line.split()[2] for line in self.record()], [str(self.pid), str(self.thread)])
        # Above the highest number
        self.write(f"kup-fingerprint 3\nthread {self.pid} {2**22} Groups=4,24\n")
        self.assertEqual(self.compare(), [])
        self.stop()
        self.assertEqual(self.compare(), [f"process {self.pid} thread {2**22}: it is not there"])

    def call(self):
        with open(f"/proc/{self.thread}/syscall", encoding="ascii") as stream:
            return stream.read()

    def stop(self):
        self.target.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED)
        self.addCleanup(self.target.send_signal, signal.SIGCONT)

    def test_all_that_can_be_observed_is_compared(self):
        """Each fact of a process that stands still is told if it was another one."""
        self.stop()
        lines = self.record()
        for line in lines:
            for name in facts(line):
                word = next(word for word in line.split() if word.startswith(f"{name}="))
                # Of signals some more may be blocked.
                other = f"{name}={'f' * 16}"
                self.write(f"kup-fingerprint 3\n{line.replace(word, other)}\n")
                (found,) = self.compare()
                self.assertTrue(found.endswith(f": {name} is {facts(line)[name]}, was {'f' * 16}"), found)

    def test_limits_and_timers_of_the_process(self):
        self.assertEqual(self.order("timer"), "0")
        self.stop()
        (first,) = [facts(line) for line in self.record() if line.split()[2] == str(self.pid)]
        self.assertEqual(first["timers"], f"ID:,0,signal:,14/0000000000000000,notify:,signal/pid.{self.pid},ClockID:,1")
        before = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (7, before[1]))
        self.assertEqual(
            self.compare(),
            [f"process {self.pid} thread {self.pid}: RLIMIT_NOFILE is 7:{before[1]}, was {before[0]}:{before[1]}"],
        )
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, before)

    def test_a_mask_for_the_time_of_a_system_call_is_not_compared(self):
        self.addCleanup(self.target.kill)
        self.assertIn("SigBlk", facts(self.record()[1]))
        self.assertEqual(self.order("suspend"), "0")
        while not self.call().startswith("130 "):
            time.sleep(0.01)
        self.stop()
        first, other = self.record()
        self.assertIn("SigBlk", facts(first))
        self.assertNotIn("SigBlk", facts(other))
        self.assertEqual(self.compare(), [])

    def test_one_at_the_beginning_of_a_handler_blocks_more_for_its_time(self):
        self.record()
        self.assertEqual(self.order("block"), "0")
        self.stop()
        self.assertEqual(self.compare(), [])
        self.record()
        self.target.send_signal(signal.SIGCONT)
        self.assertEqual(self.order("unblock"), "0")
        self.stop()
        self.assertEqual(self.compare(), [f"{self.where}: SigBlk is {0:016x}, was {1 << 9:016x}"])

    def test_how_soon_it_is_killed_without_memory_is_set_again(self):
        self.stop()
        self.record()
        path = f"/proc/{self.pid}/oom_score_adj"
        with open(path, "r+", encoding="ascii") as stream:
            before = stream.read()
            stream.write("300")
        self.assertEqual(self.compare(), [])
        with open(path, encoding="ascii") as stream:
            self.assertEqual(stream.read(), before)

    def test_one_that_runs_may_have_changed_what_moves(self):
        lines = self.record()
        text = "\n".join(["kup-fingerprint 3", *lines, ""])
        self.write(text.replace("Umask=", "Umask=7").replace("SigBlk=0", "SigBlk=f"))
        self.assertEqual(self.compare(), [])
        self.stop()
        self.assertEqual(len(self.compare()), 4)

    def test_one_that_nobody_has_waited_for_is_not_recorded(self):
        with subprocess.Popen(["true"]) as child:
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            self.assertEqual(run("record", str(child.pid)).stdout, "kup-fingerprint 3\n")
            self.write(f"kup-fingerprint 3\nthread {child.pid} {child.pid} Groups=4\n")
            self.assertEqual(self.compare(), [])


if __name__ == "__main__":
    recorded.PROGRAM = sys.argv.pop(1)
    unittest.main()
