"""Mounts as the kernel lists them."""

import os

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system import mountinfo

ROW = mountinfo.Row("36", "98:0", "/mnt1", "/mnt2", "rw,noatime", "ext3", "/dev/root", "rw,errors=continue")


@pytest.mark.parametrize("fields", ["", " master:1", " master:1 propagate_from:2"])
def test_optional_fields_are_passed_over(tmp_path, fields):
    (tmp_path / "mountinfo").write_text(
        f"36 35 98:0 /mnt1 /mnt2 rw,noatime{fields} - ext3 /dev/root rw,errors=continue\n"
    )
    assert mountinfo.of(str(tmp_path)) == [ROW]


def test_names_are_those_of_the_files(tmp_path):
    (tmp_path / "mountinfo").write_text("1 0 0:9 /a\\040-\\040b /c\\134d\\012 rw - fuse.x  rw\n")
    (row,) = mountinfo.of(str(tmp_path))
    assert (row.root, row.place, row.kind, row.source) == ("/a - b", "/c\\d\n", "fuse.x", "")


def test_what_is_no_row_is_left_out(tmp_path):
    (tmp_path / "mountinfo").write_text(
        "\nx\n1 2 3 4 5\n36 35 98:0 /mnt1 - ext3 /dev/root rw\n36 35 98:0 / / rw - ext3\n"
    )
    assert mountinfo.of(str(tmp_path)) == []
    assert {row.place for row in mountinfo.of("/proc/self")} > {"/", "/proc"}


def test_a_process_that_nobody_has_waited_for_has_none():
    pid = os.fork()
    if not pid:
        os._exit(0)
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert mountinfo.of(f"/proc/{pid}") == []
    finally:
        os.waitpid(pid, 0)
