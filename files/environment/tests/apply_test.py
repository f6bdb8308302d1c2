# SPDX-License-Identifier: GPL-3.0-or-later
"""`environment apply`, in a root of its own: apply_test.py PROGRAM."""

import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "environment"
OWNER = f"{os.getuid()} {os.getgid()}"


class Apply(unittest.TestCase):
    def setUp(self):
        # Where attributes of users are allowed on every kernel.
        self._temporary = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.addCleanup(self._temporary.cleanup)
        self.root = pathlib.Path(self._temporary.name)
        for path in ("run/kup", "dev/shm", "tmp", "etc", "proc/sys/kernel", "plan/contents"):
            (self.root / path).mkdir(parents=True)

    def apply(self, *steps, code=0, options=(), prefix=()):
        plan = self.root / "plan/all.plan"
        plan.write_text("".join(f"{line}\n" for line in ("kup-environment 1", *steps)))
        plan.chmod(0o600)
        return self.apply_file(plan, code, options, prefix)

    def apply_file(self, plan, code, options=(), prefix=()):
        done = subprocess.run(
            [*prefix, PROGRAM, "apply", "--root", self.root, "--run", self.root / "run/kup", *options, plan],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def sysctl(self, name, value):
        path = self.root / "proc/sys" / name
        path.write_text(value)
        return path

    def log(self):
        path = self.root / "run/kup/environment.log"
        return path.read_text() if path.exists() else ""

    def mode(self, path):
        return stat.S_IMODE(os.lstat(self.root / path).st_mode)

    def test_a_sysctl_is_written_where_it_differs(self):
        other, same = self.sysctl("kernel/pid_max", "32768\n"), self.sysctl("kernel/three", "1\t2 3\n")
        same.chmod(0o400)
        before = same.stat().st_mtime_ns
        self.apply("sysctl required - kernel/pid_max 4194304", "sysctl required - kernel/three 1%092%093")
        self.assertEqual(other.read_text(), "4194304\n")
        self.assertEqual(same.stat().st_mtime_ns, before)

    def test_values_that_only_begin_alike_differ(self):
        for value in ("12\n", "12 3\n", "1234"):
            with self.subTest(value):
                path = self.sysctl("kernel/x", value)
                # A file, other than a setting, keeps what is longer.
                self.apply("sysctl optional - kernel/x 123")
                self.assertEqual(path.read_text()[:4], "123\n")

    def test_a_sysctl_is_not_looked_for_elsewhere(self):
        (self.root / "etc/x").write_text("1")
        (self.root / "proc/sys/kernel/link").symlink_to("../../../etc/x")
        self.apply("sysctl required - ../../etc/x 2", "sysctl required - kernel/link 2", code=1)
        self.assertEqual((self.root / "etc/x").read_text(), "1")

    def test_what_is_optional_is_noted_and_the_rest_is_done(self):
        path = self.sysctl("kernel/x", "1\n")
        self.apply("sysctl optional - kernel/none 1", "sysctl required - kernel/x 2")
        self.assertEqual(path.read_text().strip(), "2")
        self.assertEqual(self.log(), "-: sysctl kernel/none: No such file or directory (optional)\n")

    def test_what_the_node_needs_is_said(self):
        said = self.apply("sysctl required - kernel/none 1", "directory required a.service /run/a 750 " + OWNER, code=1)
        self.assertEqual(said, "the sysctl kernel/none could not be put in place: No such file or directory\n")
        self.assertEqual(self.mode("run/a"), 0o750)

    def test_what_a_unit_needs_is_noted_for_it(self):
        steps = [f"fifo required a.service /run/none/{name} 600 {OWNER}" for name in "xy"]
        self.apply(*steps, code=3)
        self.assertEqual(
            (self.root / "run/kup/a.service.lacks").read_text(),
            "a.service needs the fifo /run/none/x, which could not be put in place: No such file or directory\n",
        )
        self.assertEqual(len(self.log().splitlines()), 2)

    def test_objects_have_owners_modes_times_and_contents(self):
        (self.root / "plan/contents/7").write_bytes(b"\0content")
        self.apply(
            f"directory required a.service /run/a%20b 2711 {OWNER}",
            f"file required a.service /run/a%20b/f 4640 {OWNER} 1700000000 5 7",
            f"fifo required a.service /run/a%20b/p 622 {OWNER}",
            f"symlink required a.service /run/a%20b/l {OWNER} ../f%0A",
        )
        self.assertEqual([self.mode(f"run/a b{name}") for name in ("", "/f", "/p")], [0o2711, 0o4640, 0o622])
        file = self.root / "run/a b/f"
        self.assertEqual((file.read_bytes(), file.stat().st_mtime_ns), (b"\0content", 1700000000000000005))
        self.assertTrue(stat.S_ISFIFO(os.lstat(self.root / "run/a b/p").st_mode))
        self.assertEqual(os.readlink(self.root / "run/a b/l"), "../f\n")

    def test_a_file_may_have_two_names(self):
        (self.root / "plan/contents/1").write_text("content")
        (self.root / "run/b").touch()
        (self.root / "etc/x").touch()
        self.apply(
            f"file required a.service /tmp/a 640 {OWNER} 5 7 1",
            f"fifo required a.service /run/fifo 640 {OWNER}",
            "hardlink required a.service /tmp/b /tmp/a",
            "hardlink required a.service /run/b /run/fifo",
            "hardlink optional a.service /tmp/c /etc/x",
            "hardlink optional a.service /etc/c /tmp/a",
        )
        self.assertTrue((self.root / "tmp/a").samefile(self.root / "tmp/b"))
        self.assertTrue((self.root / "run/b").is_fifo())
        self.assertFalse((self.root / "tmp/c").exists() or (self.root / "etc/c").exists())
        self.assertEqual(self.log().count("Operation not permitted"), 2)

    def test_attributes_may_have_any_bytes(self):
        self.apply(f"directory required a.service /run/a 700 {OWNER}", "xattr required a.service /run/a user.b %00%FF")
        self.assertEqual(os.getxattr(self.root / "run/a", "user.b"), b"\0\xff")

    def test_an_object_replaces_what_the_boot_put_there(self):
        (self.root / "plan/contents/1").write_text("ours")
        (self.root / "etc/passwd").write_text("root")
        (self.root / "run/f").symlink_to("../etc/passwd")
        self.apply(f"file required a.service /run/f 644 {OWNER} 1 0 1")
        self.assertEqual((self.root / "etc/passwd").read_text(), "root")
        self.assertEqual((self.root / "run/f").read_text(), "ours")

    def test_no_link_is_followed_on_the_way(self):
        (self.root / "run/evil").symlink_to("../etc")
        (self.root / "run/self").symlink_to("evil")
        self.apply(
            f"directory required a.service /run/evil/d 777 {OWNER}",
            f"directory required a.service /run/evil 777 {OWNER}",
            f"fifo required a.service /run/self/p 777 {OWNER}",
            "xattr required a.service /run/self user.b x",
            code=3,
        )
        self.assertEqual(list((self.root / "etc").iterdir()), [])
        self.assertEqual(len(self.log().splitlines()), 4)

    def test_only_directories_in_memory_are_written_to(self):
        for path in ("/etc/d", "/run/../etc/d", "/runner", "/tmp/..", "/dev/null/d", "run/d", "/run/.."):
            with self.subTest(path):
                self.apply(f"directory required a.service {path} 700 {OWNER}", code=3)
        self.assertEqual(list((self.root / "etc").iterdir()), [])

    def test_contents_are_numbers_in_their_folder(self):
        (self.root / "plan/secret").write_text("x")
        (self.root / "plan/contents/2").symlink_to("../secret")
        for content in ("../secret", "2", "3"):
            with self.subTest(content):
                self.apply(f"file required a.service /run/f 644 {OWNER} 1 0 {content}", code=3)

    def test_steps_can_be_chosen_by_kind(self):
        path = self.sysctl("kernel/x", "1\n")
        self.apply(
            "sysctl required - kernel/x 2", f"directory required - /run/a 700 {OWNER}", options=("--only", "directory")
        )
        self.assertEqual(path.read_text(), "1\n")
        self.assertTrue((self.root / "run/a").is_dir())

    def test_a_damaged_plan_is_refused_as_a_whole(self):
        good = f"directory required - /run/a 700 {OWNER}"
        for bad in (
            "directory required -",
            "nothing required - /run/b 700 0 0",
            "directory perhaps - /run/b 700 0 0",
            "directory required ../x /run/b 700 0 0",
            "directory required - /run/b 700 0",
            "directory required - /run/b 700 0 0 0",
            "directory required - /run/b%00 700 0 0",
            "directory required - /run/b%0 700 0 0",
            "directory required -  /run/b 700 0 0",
            "",
        ):
            with self.subTest(bad):
                self.assertIn("line 3 of the plan is not a step", self.apply(good, bad, code=1))
                self.assertFalse((self.root / "run/a").exists())

    def test_a_part_of_a_plan_is_refused(self):
        plan = self.root / "plan/part"
        for text in ("", "kup-environment 2\n", "kup-environment 1\ndirectory required - /run/a 700 0 0"):
            plan.write_text(text)
            plan.chmod(0o600)
            self.apply_file(plan, 1)
        self.assertFalse((self.root / "run/a").exists())

    def test_a_plan_that_others_can_write_is_refused(self):
        plan = self.root / "plan/open"
        plan.write_text("kup-environment 1\n")
        plan.chmod(0o666)
        self.assertIn("can be written by others", self.apply_file(plan, 1))

    def test_owners_and_modes_are_numbers(self):
        for rights in ("7777777 0 0", "700 x 0", "700 0 4294967295", "700 -1 0", "8 0 0", "% 0 0"):
            with self.subTest(rights):
                self.apply(f"directory required a.service /run/a {rights}", code=3)

    @unittest.skipIf(os.getuid(), "needs root")
    def view(self, *steps, code=0):
        """Carry the steps out in the view of a unit, with a /tmp and a /var/tmp of its own."""
        plan = self.root / "plan/all.plan"
        plan.write_text("".join(f"{line}\n" for line in ("kup-environment 1", *steps)))
        plan.chmod(0o600)
        words = ["apply", "--view", self.root, "--run", self.root / "run/kup", plan]
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)

    def test_a_private_directory_is_emptied_and_filled(self):
        place = self.root / "var/tmp"
        (place / "a/b/c").mkdir(parents=True)
        (place / "a/b/file").touch()
        (place / "link").symlink_to(self.root / "etc")
        (self.root / "etc/kept").touch()
        os.mkfifo(place / "fifo")
        (self.root / "plan/contents/1").write_text("content")
        self.view(
            f"file required a.service /var/tmp/new 640 {OWNER} 5 7 1",
            f"private required a.service /var/tmp 1770 {OWNER}",
        )
        self.assertEqual({path.name for path in place.iterdir()}, {"new"})
        self.assertEqual((place / "new").read_text(), "content")
        self.assertEqual(self.mode("var/tmp"), 0o1770)
        self.assertTrue((self.root / "etc/kept").exists())

    def test_a_private_directory_may_be_as_deep_as_it_likes(self):
        here = os.open(self.root / "tmp", os.O_RDONLY)
        (self.root / "tmp/kup-0").mkdir()
        for number in range(3000):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            if number % 7 == 0:
                os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=below))
            os.close(here)
            here = below
        os.close(here)
        self.view(f"private required a.service /tmp 1777 {OWNER}")
        self.assertEqual(os.listdir(self.root / "tmp"), [])

    def test_in_a_view_nothing_is_put_elsewhere(self):
        (self.root / "tmp/kept").touch()
        (self.root / "run/kept").touch()
        (self.root / "var/tmp").mkdir(parents=True)
        self.view(
            f"private required a.service /var/tmp 1777 {OWNER}",
            f"directory required a.service /tmp/made 755 {OWNER}",
            f"directory required a.service /run/made 755 {OWNER}",
            f"directory required a.service /var/tmp/../../run/made 755 {OWNER}",
            f"directory required a.service /var/tmp-other 755 {OWNER}",
            code=3,
        )
        self.assertEqual(os.listdir(self.root / "tmp"), ["kept"])
        self.assertEqual(sorted(os.listdir(self.root / "run")), ["kept", "kup"])
        lacks = (self.root / "run/kup/a.service.lacks").read_text()
        self.assertEqual(
            lacks, "a.service needs the directory /tmp/made, which could not be put in place: Operation not permitted\n"
        )

    def test_a_private_directory_behind_a_link_is_none(self):
        (self.root / "var").mkdir()
        (self.root / "var/tmp").symlink_to("../tmp")
        (self.root / "tmp/kept").touch()
        self.view(f"private required a.service /var/tmp 1777 {OWNER}", code=3)
        self.assertEqual(os.listdir(self.root / "tmp"), ["kept"])

    def test_what_is_the_node_s_own_is_neither_emptied_nor_filled(self):
        # In the view of the node itself each directory is its own.
        with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
            kept = pathlib.Path(place, "kept")
            kept.touch()
            plan = self.root / "plan/all.plan"
            steps = (
                f"private required a.service {place} 755 {OWNER}",
                f"fifo required a.service {place}/new 600 {OWNER}",
            )
            plan.write_text("".join(f"{line}\n" for line in ("kup-environment 1", *steps)))
            plan.chmod(0o600)
            words = ["apply", "--view", "/", "--run", self.root / "run/kup", plan]
            self.assertEqual(subprocess.run([PROGRAM, *words], check=False).returncode, 3)
            self.assertEqual(os.listdir(place), ["kept"])
        self.assertIn("Device or resource busy", (self.root / "run/kup/a.service.lacks").read_text())

    def test_without_a_view_no_directory_is_private(self):
        (self.root / "tmp/kept").touch()
        self.apply(f"private optional a.service /tmp 1777 {OWNER}")
        self.assertEqual(os.listdir(self.root / "tmp"), ["kept"])
        self.assertIn("(optional)", self.log())

    @unittest.skipUnless(os.geteuid() == 0, "needs root to make mounts")
    def test_what_is_mounted_there_in_a_namespace_of_its_own_stays(self):
        """As BindPaths= has it below a directory of TemporaryFileSystem=: directories and files."""
        (self.root / "tmp/point").mkdir()
        (self.root / "tmp/file").touch()
        (self.root / "tmp/old").mkdir()
        (self.root / "bound").mkdir()
        (self.root / "bound/kept").write_text("kept")
        (self.root / "plan/m").write_text(f"kup-environment 1\nprivate required a.service /tmp 1777 {OWNER}\n")
        script = (
            f"cd {self.root}; mount --bind bound tmp/point; mount --bind bound/kept tmp/file; echo ready; "
            "read -r _; cat tmp/point/kept tmp/file; ls tmp"
        )
        with subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other:
            self.assertEqual(other.stdout.readline(), "ready\n")
            view = f"/proc/{other.pid}/root{self.root}"
            words = ["apply", "--view", view, "--run", f"{self.root}/run/kup", f"{self.root}/plan/m"]
            subprocess.run([PROGRAM, *words], check=True)
            self.assertEqual(other.communicate("\n")[0], "keptkeptfile\npoint\n")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to make mounts")
    def test_what_is_mounted_in_a_private_directory_stays(self):
        bound = self.root / "data"
        (bound / "kept").mkdir(parents=True)
        (self.root / "tmp/a/point").mkdir(parents=True)
        (self.root / "tmp/a/gone").touch()
        plan = self.root / "plan/all.plan"
        plan.write_text(f"kup-environment 1\nprivate required a.service /tmp 1777 {OWNER}\n")
        plan.chmod(0o600)
        script = f"mount --bind {bound} {self.root}/tmp/a/point && exec {PROGRAM} apply --view {self.root} --run {self.root}/run/kup {plan}"
        subprocess.run(["unshare", "--mount", "sh", "-ec", script], check=True)
        self.assertEqual([path.name for path in bound.iterdir()], ["kept"])
        self.assertEqual([path.name for path in (self.root / "tmp/a").iterdir()], ["point"])

    def test_the_place_of_a_tmpfs_is_made(self):
        (self.root / "plan/m").write_text("kup-environment 1\nmount required - /run/lock mode=1777\n")
        (self.root / "plan/m").chmod(0o600)
        words = [PROGRAM, "apply", "--root", self.root, "--run", self.root / "run/kup", self.root / "plan/m"]
        show = f'"$@" && stat -f -c %T {self.root}/run/lock && stat -c %a {self.root}/run/lock'
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", show, "sh", *words], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.stdout.split(), ["tmpfs", "1777"], done.stderr)

    @unittest.skipIf(os.getuid(), "needs root")
    def test_a_tmpfs_is_mounted_once(self):
        show = f'{PROGRAM} "$@" && {PROGRAM} "$@" && grep -c \' {self.root}/tmp .*noexec\' /proc/self/mountinfo && stat -c %a {self.root}/tmp'
        (self.root / "plan/m").write_text("kup-environment 1\nmount required - /tmp noexec,mode=1777,size=50%25\n")
        (self.root / "plan/m").chmod(0o600)
        words = ["apply", "--root", self.root, "--run", self.root / "run/kup", self.root / "plan/m"]
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", show, "sh", *words], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.stdout.split(), ["1", "1777"], done.stderr)


if __name__ == "__main__":
    unittest.main()
