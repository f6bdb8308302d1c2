"""What a finished update keeps on purpose is removed when asked for, and not before."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import crash_kernel, grub, kernels, panic
from ansible_collections.kup.fleet.plugins.module_utils._engines import pending_memory
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records
from ansible_collections.kup.fleet.plugins.module_utils._update import transaction
from ansible_collections.kup.fleet.plugins.module_utils._update.record import Record

LEFT = ["images", "images/somebody-else", "record", "run", "run/lock"]
PLACES = ("KERNELS", "BOOT", "MEMORY", "NUMBERS", "CHECKS", "PANIC_LOG", "RUN")


@pytest.fixture
def node(tmp_path, monkeypatch):
    """A node's state with all that an update can leave: its directory, and the record of a failed one."""
    for name in PLACES:
        monkeypatch.setattr(transaction, name, str(tmp_path / name.lower()))
    monkeypatch.setattr(pending_memory, "RUN", str(tmp_path / "run"))
    monkeypatch.setattr(records, "RECORD", str(tmp_path / "record"))
    monkeypatch.setattr(records, "RECORD_COPY", str(tmp_path / "record.copy"))
    for directory in ("kernels/7.2", "run", "boot/1", "images/20260101T000000/1-a.service", "images/somebody-else"):
        (tmp_path / directory).mkdir(parents=True)
    for file in ("memory", "numbers", "record", "run/verdict", "run/lock"):
        (tmp_path / file).write_text("")
    return tmp_path, Record(PHASE="failed", ID="20260101T000000", IMAGES=str(tmp_path / "images"), KERNEL_NEW="7.2")


def names(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def test_what_a_finished_update_keeps_is_removed(node):
    directory, record = node
    assert transaction.forget(record)
    assert names(directory) == LEFT
    assert not transaction.forget(record)


def test_a_look_removes_nothing(node):
    directory, record = node
    before = names(directory)
    assert transaction.forget(record, dry=True)
    assert names(directory) == before


@pytest.mark.parametrize("phase", ["prepared", "checkpointing"])
def test_an_update_that_did_not_come_to_its_switch_is_ended(node, monkeypatch, phase):
    directory, record = node
    cleaned = []
    monkeypatch.setattr(transaction, "clean_up", lambda record, dry: cleaned.append((record["PHASE"], dry)))
    record["PHASE"] = phase
    assert transaction.forget(record)
    assert records.load()["PHASE"] == "aborted"
    assert cleaned == [("aborted", False)]
    assert names(directory) == sorted([*LEFT, "record.copy"])


@pytest.mark.parametrize("phase", ["switching", "probation", "returning"])
def test_an_update_under_way_is_left_alone(node, phase):
    directory, record = node
    before = names(directory)
    with pytest.raises(KupError, match=f"phase '{phase}'.*kup_fallback"):
        transaction.forget(Record(record, PHASE=phase))
    assert names(directory) == before


def test_a_commit_that_cannot_be_written_leaves_the_trial_as_it_is(node, monkeypatch):
    _directory, record = node
    acted = []

    def refuse(records):
        raise OSError("Read-only file system")

    monkeypatch.setattr(kernels, "running", lambda: "7.2")
    monkeypatch.setattr(records, "load", lambda: Record(record, PHASE="probation"))
    monkeypatch.setattr(records, "save", refuse)
    monkeypatch.setattr(transaction, "forgetful", lambda record: False)
    monkeypatch.setattr(transaction, "run", lambda *argv, **_options: acted.append(argv))
    for module, name in ((crash_kernel, "disarm"), (panic, "put_back"), (grub, "unpin")):
        monkeypatch.setattr(module, name, acted.append)
    with pytest.raises(OSError, match="Read-only"):
        transaction.commit()
    assert not acted


def test_a_node_without_an_update_has_nothing(tmp_path, monkeypatch):
    for name in PLACES:
        monkeypatch.setattr(transaction, name, str(tmp_path / name.lower()))
    assert not transaction.forget(Record())


class Staging(Exception):
    """The next update has come to its first step."""


def test_a_checkpoint_that_was_cut_off_is_removed_before_the_next_update_forgets_its_name(node, monkeypatch):
    directory, record = node
    cleaned = []

    def stop(path):
        raise Staging(path)

    monkeypatch.setattr(transaction, "clean_up", lambda record: cleaned.append((record["PHASE"], record["ID"])))
    monkeypatch.setattr(transaction, "make_directory", stop)
    records.save(Record(record, PHASE="checkpointing", ENGINE="criu"))
    with pytest.raises(Staging):
        transaction.stage("7.2", ["a.service"], {}, initramfs="auto", owner="me")
    assert cleaned == [("aborted", "20260101T000000")]
    assert records.load()["PHASE"] == "aborted"
