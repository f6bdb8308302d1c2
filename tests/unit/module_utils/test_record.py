"""The transaction record: what is written is read again, by Python and by the shell; who may work on it."""

import pathlib
import subprocess
import time

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records
from ansible_collections.kup.fleet.plugins.module_utils._update.record import Record

LIBRARY = pathlib.Path(__file__).parents[3] / "files" / "node" / "lib.sh"


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


def read_by_the_shell(path):
    """What files/node/lib.sh finds in the record: phase and a reason."""
    shell = LIBRARY.read_text().replace("state=/var/lib/kup", f"state={path.parent}")
    done = subprocess.run(["sh", "-ec", f'{shell}\necho "$PHASE:$REASON"'], check=True, capture_output=True, text=True)
    assert not done.stderr
    return done.stdout.strip()


def test_any_flipped_bit_is_found_and_the_copy_counts(path):
    record = Record(PHASE="probation", REASON="it said 'no'")
    records.save(record)
    right = path.read_bytes()
    for bit in range(8 * len(right)):
        flip(path, bit)
        assert records.load() == record
        if bit % 13 == 0:
            assert read_by_the_shell(path) == "probation:it said 'no'"
        path.write_bytes(right)


def test_the_shell_writes_what_the_copy_says_where_the_record_is_damaged(path):
    records.save(Record(PHASE="probation", KERNEL_NEW="7.2"))
    flip(path, 8 * 80)
    shell = LIBRARY.read_text().replace("state=/var/lib/kup", f"state={path.parent}")
    subprocess.run(["sh", "-ec", f"{shell}\nadvance fell_back why running"], check=True)
    for damaged in (path, path.with_name("record.copy")):
        flip(damaged, 8 * 70)
        assert records.load() == Record(PHASE="fell_back", KERNEL_NEW="7.2", REASON="why", DATA="running")
        flip(damaged, 8 * 70)


def test_two_damaged_records_say_nothing(path):
    records.save(Record(PHASE="probation"))
    flip(path, 8 * 70)
    flip(path.with_name("record.copy"), 8 * 3)
    with pytest.raises(KupError, match="not what was written"):
        records.load()
    assert read_by_the_shell(path) == ":"


def test_without_a_file_the_record_is_empty(path):
    record = records.load()
    assert record == {}
    assert not record.unfinished
    assert record["PHASE"] == ""


def test_a_reason_with_quotes_survives_the_shell(path):
    """files/node writes the record again with single quotes around each value."""
    record = Record(PHASE="probation", KERNEL_NEW="7.2")
    records.advance(record, "probation", "'criu check' fails:\n  it's no use; $(id) `id` \\")
    shell = LIBRARY.read_text().replace("state=/var/lib/kup", f"state={path.parent}")
    subprocess.run(["sh", "-ec", f'{shell}\nadvance fell_back "$REASON"'], check=True)
    found = records.load()
    assert found["PHASE"] == "fell_back"
    assert found["REASON"] == '"criu check" fails: it"s no use; $(id) `id` \\'
    assert found["KERNEL_NEW"] == "7.2"


def try_again(plan):
    """Exit code of a boot's attempt to restore a unit, by files/node/lib.sh."""
    shell = f"{LIBRARY.read_text()}\nplan={plan}\ntry_again a.service\nwait"
    return subprocess.run(["sh", "-ec", shell], check=False, capture_output=True, text=True)


def test_a_checkpoint_is_not_tried_for_ever(tmp_path):
    assert [try_again(tmp_path).returncode for _boot in range(5)] == [0] * 5
    last = try_again(tmp_path)
    assert last.returncode != 0
    assert "5 boots have tried to bring a.service back" in last.stderr


def test_a_boot_that_cannot_be_counted_still_tries(tmp_path):
    assert try_again(tmp_path / "missing").returncode == 0


@pytest.mark.parametrize(
    ("limits", "current", "after", "said"),
    [
        ("100 90", 80, ("100", "90"), ""),
        ("max max", 80, ("max", "max"), ""),
        # Nobody is ended for it.
        ("100 90", 101, ("infinite", "90"), "a.service has 101 bytes, more than its MemoryMax=100"),
    ],
)
def test_weights_and_limits_come_back_after_a_restore(tmp_path, limits, current, after, said):
    result = own_resources(tmp_path, limits, current)
    assert tuple((tmp_path / f"memory.{name}").read_text().strip() for name in ("max", "high")) == after
    assert (tmp_path / "cpu.weight").read_text() == "50\n"
    assert said in result.stderr
    assert bool(said) == bool(result.stderr)


def test_a_limit_waits_for_memory_that_is_still_to_come(tmp_path):
    (tmp_path / "a.service.flowing").touch()
    own_resources(tmp_path, "100 90", 10)
    assert (tmp_path / "memory.max").read_text() == "infinite\n"
    assert (tmp_path / "cpu.weight").read_text() == "50\n"
    # All is there, and who brought it in may have looked before the applications had arrived.
    (tmp_path / "a.service.flowed").touch()
    own_resources(tmp_path, "100 90", 10)
    assert (tmp_path / "memory.max").read_text() == "100\n"


def own_resources(folder, limits, current):
    """Give a.service, whose control group is the folder, back what it had, by files/node/lib.sh."""
    for name, text in (
        ("memory.max", "infinite"),
        ("memory.high", "infinite"),
        ("memory.current", current),
        ("cpu.weight", 10000),
    ):
        (folder / name).write_text(f"{text}\n")
    (folder / "resources").write_text(f"b.service /gone 7 7 1 2\na.service {folder} 50 100 {limits}\n")
    shell = f"{LIBRARY.read_text()}\nplan={folder} run={folder} UNITS=a.service\nown_resources"
    return subprocess.run(["sh", "-ec", shell], check=True, capture_output=True, text=True)


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


def test_as_dict():
    plain = Record(PHASE="probation", UNITS="a.service").as_dict()
    assert plain["phase"] == "probation"
    assert plain["units"] == ["a.service"]
    assert plain["unfinished"] is True
    assert plain["reason"] == ""
