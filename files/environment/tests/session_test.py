# SPDX-License-Identifier: GPL-3.0-or-later
"""`environment in-session`: session_test.py PROGRAM."""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "environment"
# Leaves a process behind, and says its id.
LEAVE = "sleep 60 >/dev/null 2>&1 & echo $!"


def free():
    """Return an id that no process has, and that none gets soon."""
    last = int(pathlib.Path("/proc/sys/kernel/ns_last_pid").read_text())
    highest = int(pathlib.Path("/proc/sys/kernel/pid_max").read_text())
    return next(pid for pid in range(max(last - 1000, 400), highest) if pid < last and not is_used(pid))


def is_used(pid):
    """Whether the id is one of a process, a thread, a group or a session."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        pass
    else:
        return True
    stats = (pathlib.Path(f"/proc/{each}/stat") for each in os.listdir("/proc") if each.isdigit())
    fields = (path.read_text().rpartition(")")[2].split() for path in stats if path.exists())
    return any(str(pid) in (each[2], each[3]) for each in fields)


def run(*words):
    return subprocess.run(
        [PROGRAM, "in-session", *map(str, words)], capture_output=True, text=True, check=False, timeout=30
    )


class Session(unittest.TestCase):
    def test_what_is_left_behind_is_in_the_session_and_the_group(self):
        session = free()
        done = run(session, "/bin/sh", "-c", LEAVE)
        self.assertEqual(done.returncode, 0, done.stderr)
        left = int(done.stdout)
        self.addCleanup(os.kill, left, signal.SIGKILL)
        self.assertEqual((os.getsid(left), os.getpgid(left)), (session, session))
        with self.assertRaises(ProcessLookupError):
            os.kill(session, 0)

    def test_the_exit_code_is_that_of_the_command(self):
        self.assertEqual(run(free(), "/bin/sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(run(free(), "/bin/sh", "-c", "kill -KILL $$").returncode, 128 + signal.SIGKILL)

    def test_an_id_that_is_taken_is_refused(self):
        done = run(os.getpid(), "/bin/true")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"the session {os.getpid()} cannot be made", done.stderr)

    def test_a_command_that_is_not_there(self):
        done = run(free(), "/nothing/here")
        self.assertEqual(done.returncode, 127)
        self.assertIn("/nothing/here cannot be started", done.stderr)

    def test_an_id_is_a_positive_number(self):
        for word in ("0", "-1", "x", "7x", "", "99999999999"):
            self.assertNotEqual(run(word, "/bin/true").returncode, 0, word)
        self.assertNotEqual(run(7).returncode, 0)


if __name__ == "__main__":
    unittest.main()
