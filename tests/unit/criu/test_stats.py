"""CRIU's statistics of a dump."""

import struct

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._criu import stats


def varint(number):
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def statistics(**keywords):
    fields = keywords.get("fields", ((1, 70), (2, 91234), (7, 5)))
    dump = b"".join(varint(number << 3) + varint(value) for number, value in fields)
    entry = varint(1 << 3 | 2) + varint(len(dump)) + dump
    return struct.pack("<III", 0x55105940, keywords.get("magic", 0x57093306), len(entry)) + entry


def test_the_frozen_time_is_read_from_criu_s_statistics(tmp_path):
    (tmp_path / "stats-dump").write_bytes(statistics())
    assert stats.frozen(str(tmp_path / "stats-dump")) == pytest.approx(0.091234)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        statistics()[:11],
        statistics()[:15],
        statistics(magic=1),
        statistics(fields=((1, 70),)),
        statistics()[:12] + b"\xff" * 30,
    ],
)
def test_statistics_that_do_not_tell(tmp_path, content):
    (tmp_path / "stats-dump").write_bytes(content)
    assert stats.frozen(str(tmp_path / "stats-dump")) is None


def test_no_statistics(tmp_path):
    assert stats.frozen(str(tmp_path / "stats-dump")) is None
