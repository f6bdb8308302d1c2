"""lib/record.sh: the shell reads what the library writes, and the other way round; no damaged line is executed."""

import pytest
from fakenode import OLD

from ansible_collections.kup.fleet.plugins.module_utils._update import record as records
from ansible_collections.kup.fleet.plugins.module_utils._update.record import Record

REASON = """'criu check' fails:\n  it's no use; $(id) `id` \\ "x" """


@pytest.fixture
def made(node, monkeypatch):
    made = node()
    monkeypatch.setattr(records, "RECORD", str(made.root / "var/lib/kup/record"))
    monkeypatch.setattr(records, "RECORD_COPY", str(made.root / "var/lib/kup/record.copy"))
    return made


def flip(path, bit):
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def values(made):
    return made.shell('printf "%s:%s" "$PHASE" "$REASON"').stdout


def test_the_shell_reads_what_the_library_has_written(made):
    record = Record(PHASE="probation", KERNEL_NEW="7.2", UNITS="a.service b.service")
    records.advance(record, "probation", REASON)
    text = made.shell('printf "%s|" "$PHASE" "$REASON" "$UNITS" "$ID" "${record##*/}"').stdout
    assert text == f"probation|{records.one_line(REASON)}|a.service b.service||record|"


def test_the_library_reads_what_the_shell_has_written(made):
    record = Record(PHASE="probation", KERNEL_NEW="7.2", UNITS="a.service b.service", DATA="running")
    records.advance(record, "probation", REASON)
    made.shell('advance fell_back "$REASON"', "timeline")
    assert records.load() == Record(record, PHASE="fell_back")
    made.shell("advance failed why fresh")
    assert records.load() == Record(record, PHASE="failed", REASON="why", DATA="fresh")


def test_any_flipped_bit_is_found_and_the_copy_counts(made):
    records.save(Record(PHASE="probation", REASON="it said 'no'"))
    path = made.root / "var/lib/kup/record"
    for bit in range(0, 8 * len(path.read_bytes()), 13):
        flip(path, bit)
        assert values(made) == "probation:it said 'no'"
        flip(path, bit)


def test_two_damaged_records_say_nothing_and_are_not_sealed_again(made):
    for name in ("record", "record.copy"):
        path = made.root / "var/lib/kup" / name
        path.write_text(path.read_text() + f"touch {made.root}/executed\n")
    assert values(made) == ":"
    made.shell("advance failed || :")
    assert values(made) == ":"
    assert not (made.root / "executed").exists()


@pytest.mark.parametrize("damaged", ["record", "record.copy"])
def test_either_of_two_that_the_shell_has_written_counts(made, damaged):
    records.save(Record(PHASE="probation", KERNEL_NEW="7.2"))
    flip(made.root / "var/lib/kup/record", 8 * 80)  # the shell takes the copy
    made.shell("advance fell_back why running")
    flip(made.root / "var/lib/kup" / damaged, 8 * 70)
    assert records.load() == Record(PHASE="fell_back", KERNEL_NEW="7.2", REASON="why", DATA="running")


def test_a_record_that_cannot_be_written_stays(made):
    made.fake("cp", "exit 1")
    made.shell("advance failed || :")
    assert values(made) == "switching:"


def test_without_a_file_the_record_is_empty(made):
    for name in ("record", "record.copy"):
        (made.root / "var/lib/kup" / name).unlink()
    assert values(made) == ":"


@pytest.mark.parametrize(
    ("disk", "told", "number"), [("", False, "1"), ("", True, "1"), ("7", False, "7"), ("7", True, "1")]
)
def test_a_boot_without_frames_restores_the_disk_checkpoint(made, disk, told, number):
    made.save(DISK_CHECKPOINT=disk)
    made.write("proc/cmdline", "quiet kup_ppp.table=0x1,0x2" if told else "quiet")
    assert made.shell('echo "$CHECKPOINT ${plan##*/}"').stdout == f"{number} {number}\n"


@pytest.mark.parametrize(
    ("phase", "running", "forward"),
    [("switching", "7.2-new", True), ("switching", OLD, False), ("returning", "7.2-new", False)],
)
def test_which_way_a_boot_goes(made, phase, running, forward):
    made.save(PHASE=phase)
    made.write("proc/sys/kernel/osrelease", running + "\n")
    assert made.shell("! goes_forward || echo yes").stdout == ("yes\n" if forward else "")


@pytest.mark.parametrize(
    ("text", "line"),
    [("it's\n so \n", "it's  so"), ("a\x0bb\u2028c\\", "a b   c\\"), ("x" * 400, "x" * 300), ("", "")],
)
def test_one_line(made, text, line):
    made.write("text", text)
    found = made.shell(f"one_line 300 <{made.root}/text").stdout
    assert found.removesuffix("\n") == line
