# SPDX-License-Identifier: GPL-3.0-or-later
"""A record of a process, and what the program tells of it later: what the tests of threads and of descriptors have in common."""

import subprocess
import tempfile
import unittest

PROGRAM = None


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)


def facts(line):
    """The facts of a line, as a dict."""
    return dict(word.split("=", 1) for word in line.split() if "=" in word)


class Recorded(unittest.TestCase):
    """``pid``: of the process, which each test starts; ``directory``: for its files."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory, self.path = directory.name, f"{directory.name}/record"

    def record(self, kind):
        """Record the process; return its lines of this kind."""
        done = run("record", str(self.pid))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.write(done.stdout)
        return [line for line in done.stdout.splitlines() if line.startswith(f"{kind} ")]

    def write(self, text):
        with open(self.path, "w", encoding="ascii") as stream:
            stream.write(text)

    def compare(self):
        done = run("put-right", self.path)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 3 if done.stdout else 0)
        return done.stdout.splitlines()
