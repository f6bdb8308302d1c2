"""Memory areas of a process."""

from ansible_collections.kup.fleet.plugins.module_utils._system import smaps

SMAPS = """7f0000000000-7f0000400000 rw-p 00000000 00:00 0
Size:               4096 kB
AnonHugePages:      2048 kB
VmFlags: rd wr mr mw me ac sd
7f0000400000-7f0000500000 rw-p 00000000 00:00 0
AnonHugePages:         0 kB
"""


def test_only_areas_with_huge_pages_are_split():
    assert list(smaps.areas(SMAPS.split("\n"), "AnonHugePages")) == [(0x7F0000000000, 0x7F0000400000, 2048)]


def test_a_long_file_is_searched_piece_by_piece(tmp_path, monkeypatch):
    """Wherever the pieces end, each line is seen once and whole."""
    path = tmp_path / "smaps"
    path.write_bytes(
        b"".join(b"%x rw-p\nVmFlags: rd wr%s\n" % (number, b" um" * (number % 3 == 0)) for number in range(50))
    )
    for size in (1, 7, 64, 1 << 20):
        monkeypatch.setattr(smaps, "_BLOCK", size)
        assert len(list(smaps.search(path, rb"^VmFlags:.* um\b"))) == 17


def test_areas_by_their_flags(tmp_path):
    path = tmp_path / "smaps"
    path.write_text(SMAPS.replace("ac sd", "ac wf sd dp") + "VmFlags: rd mr me ac\n")
    assert list(smaps.flagged(path, b"wf")) == ["7f0000000000-7f0000400000"]
    assert list(smaps.flagged(path, b"rd")) == ["7f0000000000-7f0000400000", "7f0000400000-7f0000500000"]
    assert list(smaps.flagged(path, b"um")) == []


def test_a_process_that_has_ended_has_no_areas(tmp_path):
    assert list(smaps.search(tmp_path / "none", rb"um")) == []
