"""The transaction record: what is written is read again; who may work on it. The shell's side is in tests/unit/node."""

import subprocess
import time

import hostile
import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records
from ansible_collections.kup.fleet.plugins.module_utils._update.record import Record


@pytest.fixture
def path(tmp_path, monkeypatch):
    path = tmp_path / "state" / "record"
    monkeypatch.setattr(records, "RECORD", str(path))
    monkeypatch.setattr(records, "RECORD_COPY", f"{path}.copy")
    return path


def test_what_is_saved_is_loaded(path):
    record = Record(
        PHASE="probation", UNITS="a.service b.service", REASON='it said "no" to $HOME `id`', KERNEL_NEW="7.2"
    )
    records.save(record)
    assert records.load() == record
    assert records.load().units == ["a.service", "b.service"]


def flip(path, bit):
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def test_any_flipped_bit_is_found_and_the_copy_counts(path):
    record = Record(PHASE="probation", REASON="it said 'no'")
    records.save(record)
    right = path.read_bytes()
    for bit in range(8 * len(right)):
        flip(path, bit)
        assert records.load() == record
        path.write_bytes(right)


def test_two_damaged_records_say_nothing(path):
    records.save(Record(PHASE="probation"))
    flip(path, 8 * 70)
    flip(path.with_name("record.copy"), 8 * 3)
    with pytest.raises(KupError, match="not what was written"):
        records.load()


def test_without_a_file_the_record_is_empty(path):
    record = records.load()
    assert record == {}
    assert not record.unfinished
    assert record["PHASE"] == ""


@pytest.mark.parametrize("text", ["PHASE=great", "COLOUR=red", "no line", "PHASE=probation phase"])
def test_a_broken_record_is_refused(text):
    with pytest.raises(KupError, match="transaction record"):
        records.parse(records.sealed(text + "\n"))


@pytest.mark.parametrize(("phase", "unfinished"), [(name, meaning[0]) for name, meaning in records.PHASES.items()])
def test_unfinished(phase, unfinished):
    assert Record(PHASE=phase).unfinished is unfinished


def held(until, phase="probation", kernel="7.2"):
    return Record(PHASE=phase, OWNER="first", OWNER_UNTIL=str(int(time.time()) + until), KERNEL_NEW=kernel)


def test_another_run_is_kept_away_while_one_is_at_work():
    with pytest.raises(KupError, match="The run first works on this node"):
        records.claim(held(60), "second")


def test_a_clock_that_was_set_back_keeps_nobody_away_for_longer_than_a_lease():
    with pytest.raises(KupError, match=f"or {records.LEASE} s if it is dead"):
        records.claim(held(10**6), "second")


def test_the_same_run_goes_on():
    records.claim(held(60), "first")


def test_a_dead_run_is_taken_over_for_the_same_kernel():
    records.claim(held(-1), "second", "7.2")


def test_a_dead_run_for_another_kernel_is_refused():
    with pytest.raises(KupError, match="left an update to 7.2 in phase probation"):
        records.claim(held(-1), "second", "6.12")


def test_a_finished_update_keeps_nobody_away():
    records.claim(held(60, phase="committed"), "second")


def test_take_renews_the_lease_of_an_unfinished_update(path):
    records.save(held(-1))
    records.take("second")
    found = records.load()
    assert found["OWNER"] == "second"
    assert int(found["OWNER_UNTIL"]) > time.time() + records.LEASE - 5


def test_a_take_that_is_dry_is_refused_alike_and_saves_nothing(path):
    records.save(held(-1))
    before = dict(records.load())
    assert records.take("second", dry=True)["OWNER"] == before["OWNER"]
    assert records.load() == before
    records.save(held(60))
    with pytest.raises(KupError, match="The run first works on this node"):
        records.take("second", dry=True)


def test_a_longer_lease_keeps_others_away_for_as_long_by_any_clock(path):
    records.save(held(-1))
    records.take("first", seconds=7200)
    found = records.load()
    with pytest.raises(KupError, match=r"or 7[12]\d\d s if it is dead"):
        records.claim(found, "second")
    found["OWNER_UNTIL"] = str(int(time.time()) + 10**6)
    with pytest.raises(KupError, match="or 7200 s if it is dead"):
        records.claim(found, "second")


def test_as_dict():
    plain = Record(PHASE="probation", UNITS="a.service").as_dict()
    assert plain["phase"] == "probation"
    assert plain["units"] == ["a.service"]
    assert plain["unfinished"] is True
    assert plain["reason"] == ""


SHELL = """
state=$1
. files/node/lib/record.sh
state=$1
load_record
advance fell_back "$(one_line 300)"
"""


def by_shell(path, said):
    """The node's shell takes what was ``said`` into the record."""
    subprocess.run(["sh", "-euc", SHELL, "sh", str(path.parent)], input=said, check=True)


def test_any_reason_of_an_application_leaves_the_record_readable(path):
    for name in [b"\xe9 Latin-1", b"NUL \0 here", *hostile.names(10, 25)]:
        record = Record(PHASE="switching", ID="1", UNITS="a.service")
        records.advance(record, "switching", name.decode("utf-8", "surrogateescape"))
        assert records.load()["ID"] == "1"
        by_shell(path, name)
        found = records.load()
        assert (found["PHASE"], found["ID"], found.units) == ("fell_back", "1", ["a.service"])
        assert found["REASON"].isascii()


def test_a_record_with_bytes_that_are_no_text_is_read(path):
    path.parent.mkdir()
    body = b"ID=1\nPHASE='failed'\nREASON='caf\xe9 \xc2\x85 \x0c \xe2\x80\xa8'\n"
    path.write_bytes(records.sealed(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape"))
    assert records.load()["REASON"].startswith("caf\ufffd")
    by_shell(path, b"again")
    assert (records.load()["PHASE"], records.load()["REASON"]) == ("fell_back", "again")


@pytest.mark.parametrize("text", ["REASON='no end\n", "REASON=a b\n", "\nID=1\n", "PHASE\n"])
def test_a_line_that_no_program_writes_is_an_error_that_says_so(text):
    with pytest.raises(KupError, match="unexpected line|says phase"):
        records.parse(records.sealed("PHASE='failed'\n" + text))


def test_units_that_lost_their_state_are_counted_once():
    record = Record(UNITS="a.service b.service")
    assert record.lose([]) is None
    assert record.lose(["b.service"]) == "partial"
    assert record.lose(["b.service"]) == "partial"
    assert record["FRESH_UNITS"] == "b.service"
    assert record.lose(["a.service"]) == "fresh"


@pytest.mark.parametrize(
    ("failed", "fresh", "stopped_by"),
    [("", "", []), ("a.service", "", ["a.service"]), ("", "a.service", ["a.service"]), ("b.service", "b.service", [])],
)
def test_which_units_end_the_rollout(failed, fresh, stopped_by):
    policies = "a.service=stop b.service=continue"
    units = {"UNITS": "a.service b.service", "FAILED_UNITS": failed, "FRESH_UNITS": fresh}
    plain = Record(units, PHASE="fell_back", ON_FAILURE=policies).as_dict()
    assert plain["policies"] == {"a.service": "stop", "b.service": "continue"}
    assert plain["stopped_by"] == stopped_by
    assert (plain["failed_units"], plain["fresh_units"]) == (failed.split(), fresh.split())


def test_only_policies_that_differ_from_the_default_are_kept():
    units = ["a.service", "b.service", "c.service"]
    assert records.policies(units, "fall_back", {}) == ""
    assert records.policies(units, "fall_back", {"b.service": "continue"}) == "b.service=continue"
    assert records.policies(units, "stop", {"b.service": "fall_back"}) == "a.service=stop c.service=stop"


@pytest.mark.parametrize(
    ("general", "single", "says"),
    [
        ("ignore", {}, "on_failure of a.service is 'ignore', expected one of fall_back, continue, stop."),
        ("stop", {"a.service": "ignore"}, "on_failure of a.service is 'ignore'"),
        (
            "stop",
            {"x.service": "stop"},
            "A policy is given for x.service, which is not updated, expected one of a.service.",
        ),
    ],
)
def test_a_policy_that_there_is_not_is_refused(general, single, says):
    with pytest.raises(KupError) as caught:
        records.policies(["a.service"], general, single)
    assert str(caught.value).startswith(says)
