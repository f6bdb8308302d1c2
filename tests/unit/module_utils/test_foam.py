"""Pure parts of the engine foam: when the rounds end, what CRIU's statistics say, where huge pages are."""

import struct

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._blocker import Blocker
from ansible_collections.kup.fleet.plugins.module_utils._criu import stats
from ansible_collections.kup.fleet.plugins.module_utils._engines import base, registry
from ansible_collections.kup.fleet.plugins.module_utils._engines import rounds as copy_rounds
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import smaps


def rounds(*seconds):
    """Rounds of the given lengths, each beginning when the one before has ended."""
    began, found = 0.0, []
    for each in seconds:
        found.append(copy_rounds.Round(began, each, 1000, 0.1))
        began += each
    return found, began


def test_one_round_tells_nothing_of_what_is_written_meanwhile():
    done, now = rounds(8)
    assert copy_rounds.expected_freeze(done, now) is None
    assert not copy_rounds.enough(done, 100, now)


def test_what_is_written_grows_with_the_time_since_the_last_round_began():
    done, now = rounds(8, 2)
    assert copy_rounds.expected_freeze(done, now) == pytest.approx(0.5)
    assert copy_rounds.expected_freeze(done, now + 2) == pytest.approx(1.0)


def test_rounds_end_at_the_target():
    done, now = rounds(8, 2)
    assert copy_rounds.enough(done, 0.5, now)
    assert not copy_rounds.enough(done, 0.49, now)


def test_rounds_end_when_they_get_no_shorter():
    done, now = rounds(8, 7)
    assert copy_rounds.enough(done, 0.01, now)


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


SMAPS = """7f0000000000-7f0000400000 rw-p 00000000 00:00 0
Size:               4096 kB
AnonHugePages:      2048 kB
VmFlags: rd wr mr mw me ac sd
7f0000400000-7f0000500000 rw-p 00000000 00:00 0
AnonHugePages:         0 kB
"""


def test_only_areas_with_huge_pages_are_split():
    assert list(smaps.areas(SMAPS, "AnonHugePages")) == [(0x7F0000000000, 0x7F0000400000, 2048)]


class Fake(base.Engine):
    def __init__(self, *blockers, kernels=(), survives_power_cut=True):
        self._blockers, self._kernels, self.survives_power_cut = list(blockers), kernels, survives_power_cut

    def checkpoint(self, unit, directory, settings):
        raise NotImplementedError

    def blockers(self, images, daemon):
        return self._blockers

    def kernel_blockers(self, release, daemon):
        return [Blocker("option", f"Kernel {release}", "lacks it", "do")] if release in self._kernels else []


NO = Blocker("no", "It", "cannot", "do")


@pytest.fixture
def engines(monkeypatch):
    def have(**found):
        monkeypatch.setattr(registry, "ENGINES", found)

    return have


def test_auto_takes_the_first_that_works_and_says_why_no_better_one(engines):
    engines(foam=Fake(NO), criu=Fake())
    assert registry.choose("auto", "/images", ("6.12", "7.2")) == ("criu", ["Engine foam: It cannot; do."])


def test_an_engine_must_work_on_both_kernels(engines):
    engines(foam=Fake(kernels=("7.2",)), criu=Fake())
    chosen, reasons = registry.choose("auto", "/images", ("6.12", "7.2"))
    assert (chosen, reasons) == ("criu", ["Engine foam: Kernel 7.2 lacks it; do."])


def test_the_disk_checkpoint_must_work_as_well(engines):
    engines(ppp=Fake(survives_power_cut=False), foam=Fake(NO))
    assert registry.choose("ppp", "/images", ()) == ("ppp", [])
    with pytest.raises(KupError, match=r"^Engine foam: It cannot; do\.$"):
        registry.choose("ppp", "/images", (), disk_checkpoint="foam")


@pytest.mark.parametrize(
    ("engine", "disk_checkpoint", "most"),
    [("foam", "", 6400), ("criu", "foam", 6400), ("ppp", "", 1200), ("ppp", "foam", 7600)],
)
def test_room_for_images_is_what_the_engine_writes(engine, disk_checkpoint, most):
    assert registry.images_bytes(engine, disk_checkpoint, rss=6400, shmem=1000) == most


def test_an_engine_that_was_asked_for_is_used_or_refused(engines):
    engines(foam=Fake(NO), criu=Fake())
    with pytest.raises(KupError, match="Engine foam: It cannot; do."):
        registry.choose("foam", "/images", ())
