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
    assert list(smaps.areas(SMAPS, "AnonHugePages")) == [(0x7F0000000000, 0x7F0000400000, 2048)]
