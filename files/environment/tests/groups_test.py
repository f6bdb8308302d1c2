# SPDX-License-Identifier: GPL-3.0-or-later
"""`environment without-groups`: groups_test.py PROGRAM."""

import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)


def run(*words, groups=()):
    return subprocess.run(
        [PROGRAM, "without-groups", *words],
        extra_groups=groups,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


class Groups(unittest.TestCase):
    def test_the_command_has_none(self):
        done = run("/bin/sh", "-c", "grep ^Groups: /proc/$$/status; exit 7", groups=[4, 1234])
        self.assertEqual(done.stdout.split(), ["Groups:"], done.stderr)
        self.assertEqual(done.returncode, 7)

    def test_a_command_that_is_not_there_is_named(self):
        done = run("/no/such/program")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/no/such/program cannot be started", done.stderr)

    def test_a_command_is_needed(self):
        self.assertEqual(run().returncode, 2)


if __name__ == "__main__":
    unittest.main()
