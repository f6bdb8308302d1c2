"""What systemd-tmpfiles must not do to what travels: lines that come before its own."""

import os
import subprocess

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._environment import tmpfiles
from ansible_collections.kup.fleet.plugins.module_utils._environment.plan import Plans

DIRECTORY = os.stat("/tmp")
LINES = [
    "# a comment",
    "D /tmp 1777 root root 10d",
    "r! /tmp/.X[0-9]*-lock",
    "D! /run/foo 0755 root root -",
    "R! /run/bar/*",
    "R /run/ba",
    "d /run/foo 0700 - - 5d",
    "d /run/other 0755 root root -",
    "F /run/f 0644 root root - new",
    "w /run/g - - - - text",
    'd "/run/quoted" 0755',
    "d /run/%u 0755",
    "z /run/foo 0755",
    "d",
]


def status(mode, uid=0, gid=0):
    return os.stat_result((mode, 0, 0, 1, uid, gid, 0, 0, 0, 0))


OBJECTS = {
    "/tmp/.X1-lock": status(0o100644),
    "/run/foo": status(0o40750, 3, 4),
    "/run/bar/deep": status(0o40755),
    "/run/bar/deep/file": status(0o100644),
    "/run/f": status(0o100600),
    "/run/g": status(0o100600),
}


def test_each_line_that_would_do_harm_has_one_before_it():
    mode = DIRECTORY.st_mode & 0o7777
    assert tmpfiles.overrides(LINES, OBJECTS) == [
        f"d /tmp ~{mode:04o} {DIRECTORY.st_uid} {DIRECTORY.st_gid} 10d",
        "x /tmp/.X[0-9]*-lock 0700",
        "d /run/foo ~0750 3 4 -",
        "x /run/bar/* 0700",
        "f /run/f ~0600 0 0 -",
        "x /run/g 0700",
    ]


def test_a_line_that_says_the_same_would_not_come_before():
    assert tmpfiles.overrides(["D /run/foo ~0750 3 4"], OBJECTS) == ["d /run/foo 0750 3 4 -"]


def test_where_nothing_travels_nothing_is_written(tmp_path):
    assert tmpfiles.steps(LINES, {}, Plans(f"{tmp_path}/environment")) == []


@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
def test_systemd_tmpfiles_leaves_alone_what_travels(tmp_path):
    """With the real program, in a root of its own: everything that its configuration would remove is still there."""
    for path in ("etc", "usr/lib/tmpfiles.d", "run/tmpfiles.d", "run/foo", "run/bar/deep", "tmp"):
        (tmp_path / path).mkdir(parents=True)
    for name in ("passwd", "group"):
        (tmp_path / "etc" / name).write_text("root:x:0:0::/:\n" if name == "passwd" else "root:x:0:\n")
    files = ("tmp/.X1-lock", "tmp/other", "run/foo/a", "run/bar/deep/file", "run/f", "run/g")
    for name in files:
        (tmp_path / name).write_text("as it was")
    (tmp_path / "run/foo").chmod(0o711)
    # Rights that a line of the kind z gives are given in any case.
    lines = [line for line in LINES if not line.startswith("z")]
    (tmp_path / "usr/lib/tmpfiles.d/all.conf").write_text("\n".join(lines) + "\n")
    objects = {f"/{name}": (tmp_path / name).stat() for name in (*files, "run/foo", "run/bar/deep")}
    kept = tmpfiles.overrides(LINES, objects)
    (tmp_path / tmpfiles.KEPT[1:]).write_text("\n".join(kept) + "\n")
    command = ["systemd-tmpfiles", f"--root={tmp_path}", "--create", "--remove", "--boot"]
    subprocess.run(command, check=False, capture_output=True)
    assert {name: (tmp_path / name).read_text() for name in files} == dict.fromkeys(files, "as it was")
    assert (tmp_path / "run/foo").stat().st_mode & 0o777 == 0o711
