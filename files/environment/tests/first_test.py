# SPDX-License-Identifier: GPL-3.0-or-later
"""`environment` as process 1: first_test.py PROGRAM."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "environment"
INIT = """#!/bin/sh
echo $$ "$0" $*
echo "$LD_LIBRARY_PATH"
"""


@unittest.skipUnless(os.geteuid() == 0, "needs root to make namespaces")
class First(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        for name in ("usr", "sbin", "dev", "proc", "var/lib/kup"):
            (self.root / name).mkdir(parents=True)
        for name in ("bin", "lib", "lib64"):
            (self.root / name).symlink_to(f"usr/{name}")
        shutil.copy(PROGRAM, self.root / "environment")
        self.folder = self.root / "var/lib/kup/without-bpf"
        self.folder.mkdir()
        self.wanted = self.folder / "libbpf.so.1"
        self.wanted.touch()
        self.init = self.root / "sbin/init"
        self.init.write_text(INIT)
        self.init.chmod(0o755)

    def boot(self, *words, **variables):
        """Start it as the first process below the root, and return what became of it."""
        script = 'mount --rbind /usr "$0/usr" && mount -t proc proc "$0/proc" && exec chroot "$0" /environment "$@"'
        namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        command = [*namespaces, "sh", "-c", script, str(self.root), *words]
        # What is left when it becomes another program is no leak.
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0", **variables}
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)

    def test_init_gets_all_words_and_a_library_that_nobody_can_open(self):
        done = self.boot("apply", "3")
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.stdout.splitlines(), ["1 /sbin/init apply 3", "/var/lib/kup/without-bpf"])

    def test_the_dynamic_linker_refuses_it(self):
        self.init.write_text(
            "#!/usr/bin/python3 -I\nimport ctypes\ntry:\n    ctypes.CDLL('libbpf.so.1')\nexcept OSError as error:\n    print(error)\n"
        )
        self.assertIn("/var/lib/kup/without-bpf/libbpf.so.1: file too short", self.boot().stdout)

    def test_a_boot_that_nobody_has_prepared_is_like_any_other(self):
        self.wanted.unlink()
        done = self.boot("3")
        self.assertEqual(done.stdout.splitlines(), ["1 /sbin/init 3", ""])

    def test_an_operator_s_own_path_is_left_alone(self):
        done = self.boot(LD_LIBRARY_PATH="/usr/local/lib")
        self.assertEqual(done.stdout.splitlines(), ["1 /sbin/init", "/usr/local/lib"])

    def test_without_init_it_says_so(self):
        self.init.unlink()
        done = self.boot()
        self.assertEqual(done.returncode, 1)
        self.assertIn("/sbin/init cannot be started", done.stderr)


if __name__ == "__main__":
    unittest.main()
