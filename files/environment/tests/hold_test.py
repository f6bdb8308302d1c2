# SPDX-License-Identifier: GPL-3.0-or-later
"""`environment hold`: hold_test.py PROGRAM."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "environment"


class Hold(unittest.TestCase):
    def setUp(self):
        self._temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self._temporary.cleanup)
        self.folder = pathlib.Path(self._temporary.name)
        self.group = self.folder / "cgroup.procs"
        self.group.touch()
        self.holders = []
        self.addCleanup(self.end)

    def end(self):
        for pid in self.holders:
            os.kill(pid, signal.SIGKILL)

    def hold(self, *groups, code=0, prefix=()):
        file = self.folder / "view"
        done = subprocess.run(
            [*prefix, PROGRAM, "hold", file, *groups], capture_output=True, text=True, check=False, timeout=30
        )
        self.assertEqual(done.returncode, code, done.stderr)
        if code:
            return done.stderr
        self.holders.append(int(file.read_text()))
        return self.holders[-1]

    def test_it_stays_in_another_group_without_descriptors(self):
        pid = self.hold(self.folder / "none", self.group)
        self.assertEqual(self.group.read_text(), "0")
        self.assertEqual(os.getsid(pid), pid)
        deadline = time.monotonic() + 10
        while os.listdir(f"/proc/{pid}/fd") and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(os.listdir(f"/proc/{pid}/fd"), [])

    def test_it_ends_when_it_is_told(self):
        pid = self.hold(self.group)
        os.kill(pid, signal.SIGTERM)
        self.holders.clear()
        deadline = time.monotonic() + 10
        while os.path.exists(f"/proc/{pid}/ns/mnt") and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertRaises(OSError, os.readlink, f"/proc/{pid}/ns/mnt")

    def test_a_file_of_an_attempt_before_is_replaced(self):
        (self.folder / "view").write_text("an older and longer text\n")
        self.hold(self.group)

    def test_what_is_refused(self):
        self.assertIn("there is no other control group", self.hold(self.folder / "none", code=1))
        (self.folder / "directory").mkdir()
        self.assertIn("cannot be joined", self.hold(self.folder / "directory", code=1))
        (self.folder / "view").unlink()
        (self.folder / "view").symlink_to(self.folder / "elsewhere")
        self.assertIn("cannot be written", self.hold(self.group, code=1))
        self.assertFalse((self.folder / "elsewhere").exists())

    @unittest.skipUnless(os.geteuid() == 0, "needs root to make namespaces")
    def test_its_namespaces_can_be_entered(self):
        pid = self.hold(self.group, prefix=("unshare", "--mount", "--uts"))
        for kind in ("mnt", "uts"):
            self.assertNotEqual(os.readlink(f"/proc/{pid}/ns/{kind}"), os.readlink(f"/proc/self/ns/{kind}"))
        subprocess.run(["nsenter", f"--mount=/proc/{pid}/ns/mnt", "true"], check=True)


if __name__ == "__main__":
    unittest.main()
