# SPDX-License-Identifier: GPL-3.0-or-later
"""`environment track`: track_test.py PROGRAM. Whether a real connection goes on: tests/unit/environment/test_tracked.py."""

import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "environment"
# Of a subsystem of nfnetlink that no kernel has: the answer is an error.
UNKNOWN = 0xF000


def message(kind, body=b"\2\0\0\0"):
    return struct.pack("=IHHII", 16 + len(body), kind, 0x5, 1, 0) + body


class Track(unittest.TestCase):
    def track(self, content):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "tracked")
            if content is not None:
                path.write_bytes(content)
            done = subprocess.run([PROGRAM, "track", path], capture_output=True, text=True, check=False, timeout=30)
        return done.returncode, done.stderr

    def test_nothing(self):
        self.assertEqual(self.track(b""), (0, ""))

    def test_no_list(self):
        code, said = self.track(None)
        self.assertEqual(code, 1)
        self.assertIn("tracked cannot be read: No such file", said)

    def test_what_the_kernel_does_not_take_is_counted(self):
        code, said = self.track(message(UNKNOWN) * 3)
        self.assertEqual(code, 1)
        self.assertIn("has not taken 3 of 3 connections: ", said)

    def test_a_broken_list(self):
        for broken in (b"\1", message(UNKNOWN)[:-1], struct.pack("=IHHII", 15, 0, 0, 0, 0), b"\xff" * 16):
            code, said = self.track(message(UNKNOWN) + broken)
            self.assertEqual(code, 1)
            self.assertIn("is broken behind 1 of them", said)


if __name__ == "__main__":
    unittest.main()
