# SPDX-License-Identifier: GPL-3.0-or-later
"""`environment note-files` and `same-files`, of this process: files_test.py PROGRAM."""

import mmap
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "environment"


# criu/include/magic.h: IMG_COMMON_MAGIC and FILES_MAGIC
FILES_MAGIC = struct.pack("<II", 0x54564319, 0x56303138)


def entry(path, size, key=8):
    """A regular file in CRIU's files.img, its size under the number ``key`` (regfile.proto)."""
    name = os.fsencode(path)
    varint = bytes([size & 0x7F | 0x80, size >> 7])
    fields = b"\x08\x05\x10\x00\x18\x00\x2a\x02\x08\x00\x32" + bytes([len(name)]) + name + b"\x38\x01"
    reg = fields + bytes([key << 3]) + varint + b"\x50\xa4\x03"
    message = b"\x08\x01\x10\x05\x1a" + bytes([len(reg)]) + reg
    return struct.pack("<I", len(message)) + message


class Files(unittest.TestCase):
    def setUp(self):
        # On a disk: files in memory are none of the list.
        self._temporary = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.addCleanup(self._temporary.cleanup)
        self.root = pathlib.Path(self._temporary.name)
        self.list = self.root / "files-a.service"
        # What the tests themselves write to.
        self._outputs = [os.path.realpath(f"/proc/self/fd/{number}") for number in (0, 1, 2)]

    def open(self, name, mode, content=b"x" * 8192):
        path = self.root / name
        path.write_bytes(content)
        return path, self.enterContext(open(path, mode, buffering=0))

    def run_program(self, *words, code=0):
        done = subprocess.run([PROGRAM, *words], capture_output=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return os.fsdecode(done.stderr)

    def note(self):
        self.run_program("note-files", self.root, "--unit", "a.service", str(os.getpid()))
        kept = [line for line in self.list.read_text().splitlines() if line.split()[-1] not in self._outputs]
        self.list.write_text("".join(f"{line}\n" for line in kept))
        return {line.split()[-1]: line.split()[0] for line in kept}

    def same(self, *options, code=0):
        return self.run_program("same-files", *options, self.list, code=code)

    def differs(self, says, *options):
        self.assertIn(says, self.same(*options, code=3))

    def test_what_is_written_or_mapped_is_in_the_list(self):
        written, stream = self.open("written", "r+b")
        appended, _content = self.open("appended", "ab")
        read, _content = self.open("read", "rb")
        strange, _content = self.open("a b%\n", "r+b")
        deleted, _content = self.open("deleted", "r+b")
        deleted.unlink()
        uses = self.note()
        here = {path: use for path, use in uses.items() if path.startswith(str(self.root))}
        self.assertEqual(here, {str(written): "w", str(appended): "p", f"{self.root}/a%20b%25%0A": "w"})
        self.assertEqual({use for path, use in uses.items() if path.endswith("/python3") or ".so" in path}, {"m"})
        self.assertEqual(self.list.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.same(), "")

    def test_the_strongest_use_counts(self):
        path, _content = self.open("log", "ab")
        self.enterContext(open(path, "r+b"))
        self.assertEqual(self.note()[str(path)], "w")
        shared = self.root / "shared"
        shared.write_bytes(b"x" * 4096)
        with open(shared, "r+b") as stream:
            area = mmap.mmap(stream.fileno(), 4096)
        self.addCleanup(area.close)
        self.assertEqual(self.note()[str(shared)], "w")

    def test_files_in_memory_are_not(self):
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as stream, open("/proc/self/oom_score_adj", "r+b"):
            self.assertNotIn(stream.name, self.note())
            self.assertNotIn("/proc", " ".join(self.note()))

    def test_every_change_of_a_written_file_is_named(self):
        path, stream = self.open("data", "r+b")
        again = path.with_name("again")
        self.note()
        stream.write(b"y")
        self.differs(f"the file {path} was written at 2")
        self.note()
        stream.truncate(5)
        self.differs("has 5 bytes, expected 8192")
        self.note()
        path.chmod(0o640)
        self.differs("was changed at 2")
        self.note()
        os.chown(path, 1, 1)
        self.differs(f"belongs to 1:1, expected {os.getuid()}:{os.getgid()}")
        self.note()
        path.rename(again)
        self.differs(f"the file {path} is not there (No such file or directory)")
        path.write_bytes(again.read_bytes())
        self.differs("is another file (inode ")
        path.unlink()
        path.symlink_to(again)
        self.differs("is no regular file any more")
        path.unlink()
        path.mkdir()
        self.differs("is no regular file any more")

    def test_a_write_through_a_mapping_is_found(self):
        path, stream = self.open("data", "r+b")
        area = mmap.mmap(stream.fileno(), 4096)
        self.addCleanup(area.close)
        self.note()
        self.same()
        area[0] = 1
        area.flush()
        self.differs(f"the file {path} was written at 2")

    def test_what_others_append_is_no_difference_for_a_unit_that_has_not_run(self):
        path, stream = self.open("log", "ab")
        self.note()
        images = ("--images", self.root)
        image = self.root / "files.img"
        image.write_bytes(FILES_MAGIC + entry(path, 8192) + entry(self.root, 8192) + entry(path, 8192))
        stream.write(b"more")
        self.differs("has 8196 bytes, expected 8192")
        said = f"{path} has grown by 4 bytes since the checkpoint: another program writes it\n"
        self.assertEqual(self.same(*images), said)
        # CRIU does not know the field with the size any more, and all else is as it was.
        told = FILES_MAGIC + entry(path, 8192, key=15) + entry(self.root, 8192) + entry(path, 8192, key=15)
        self.assertEqual(image.read_bytes(), told)
        image.write_bytes(told[:-1])
        self.assertIn("is not as CRIU writes it", self.same(*images))
        path.write_bytes(b"")
        self.differs("has 0 bytes, expected 8192", *images)
        path.write_bytes(b"x" * 8192)
        self.differs("was written at", *images)
        path.unlink()
        path.write_bytes(b"x" * 9000)
        self.differs("is another file", *images)

    def test_a_file_that_is_only_mapped_may_be_another_one_with_the_same_content(self):
        path, stream = self.open("library", "rb")
        area = mmap.mmap(stream.fileno(), 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
        self.addCleanup(area.close)
        self.assertEqual(self.note()[str(path)], "m")
        times = path.stat()
        path.unlink()
        path.write_bytes(b"x" * 8192)
        os.utime(path, ns=(times.st_mtime_ns, times.st_mtime_ns))
        self.same()
        path.write_bytes(b"y" * 8192)
        self.differs(f"the file {path} was written at")

    def test_a_broken_list_is_refused(self):
        path, _content = self.open("data", "r+b")
        self.note()
        good = self.list.read_text().splitlines()[-1]
        for bad in (good[2:], f"{good} x", good.replace(" /", " "), f"{good}%", f"{good}%0", f"{good}%00", "", "x" * 9):
            self.list.write_text(f"{bad}\n")
            self.assertIn("is broken", self.same(code=1))
        self.list.write_text(good)
        self.assertIn("is broken", self.same(code=1))
        self.list.write_text(f"{good}\n\0\n")
        self.assertIn("is broken", self.same(code=1))
        self.list.unlink()
        self.list.symlink_to(path)
        self.assertIn("cannot be opened", self.same(code=1))

    def test_what_cannot_be_listed(self):
        for words in (("--unit",), ("x",), ("--unit", "a/b"), ("--unit", "a", "0"), ("--unit", "a", "1x")):
            self.run_program("note-files", self.root, *words, code=1)
        gone = subprocess.Popen(["true"])
        gone.wait()
        self.run_program("note-files", self.root, "--unit", "a", str(gone.pid), code=1)
        self.run_program("note-files", self.root / "none", "--unit", "a", code=1)
        self.assertIn("usage", self.run_program("same-files", code=2))
        self.assertIn("usage", self.run_program("same-files", "a", "b", code=2))

    @unittest.skipUnless(os.geteuid() == 0, "needs root to make mounts")
    def test_a_directory_that_the_unit_sees_elsewhere_is_named_as_on_the_node(self):
        private = self.root / "systemd-private-1/tmp"
        (private / "deep").mkdir(parents=True)
        script = (
            f"mount --bind {private} /var/tmp; exec 5>>/var/tmp/deep/log; : >/var/tmp/closed; echo ready; read -r _"
        )
        child = subprocess.Popen(
            ["unshare", "--mount", "sh", "-ec", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(child.communicate, "\n")
        self.assertEqual(child.stdout.readline(), "ready\n")
        for bound, expected in (
            ((), []),
            # No file of the node has the name.
            (("--bound", "/var/tmp", self.root), []),
            (("--bound", "/var", private, "--bound", "/var/tmp", private), [f"{private}/deep/log"]),
            (("--bound", "/var/tmp", private), [f"{private}/deep/log"]),
        ):
            self.run_program("note-files", self.root, "--unit", "a.service", *bound, str(child.pid))
            rows = [line.split(" ") for line in self.list.read_text().splitlines()]
            self.assertEqual([row[-1] for row in rows if row[0] == "p" and "/deep/" in row[-1]], expected)
        self.assertEqual(self.same(), "")
        with open(private / "deep/log", "a", encoding="ascii") as stream:
            stream.write("x")
        self.differs("has 1 bytes, expected 0")

    def test_a_bound_directory_has_two_paths(self):
        for words in (("/tmp",), ("/tmp", "x"), ("tmp", "/x")):
            self.assertIn(
                "--bound", self.run_program("note-files", self.root, "--unit", "a.service", "--bound", *words, code=1)
            )

    def test_several_units_at_once(self):
        self.run_program("note-files", self.root, "--unit", "a.service", str(os.getpid()), "--unit", "b.service")
        self.assertEqual((self.root / "files-b.service").read_text(), "")


if __name__ == "__main__":
    unittest.main()
