"""Memory that has not come in yet: nothing is dumped or removed before it has."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._engines import pending_memory
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError


@pytest.fixture
def run_directory(monkeypatch, tmp_path):
    monkeypatch.setattr(pending_memory, "RUN", str(tmp_path))
    monkeypatch.setattr(pending_memory, "_said", lambda unit: "restored, 5 pages left")
    return tmp_path


def pending(directory, unit="cache.service"):
    return directory / f"{unit}{pending_memory._ENDING}"


def test_units_are_named_by_their_marks(run_directory):
    pending(run_directory).touch()
    (run_directory / "web.service.journal").touch()
    assert pending_memory.units() == ["cache.service"]


def test_where_there_was_no_restore_nothing_is_pending(monkeypatch):
    monkeypatch.setattr(pending_memory, "RUN", "/nonexistent")
    assert pending_memory.units() == []


def test_pending_memory_is_waited_for(run_directory, monkeypatch):
    pending(run_directory).touch()
    naps = []

    def sleep(seconds):
        naps.append(seconds)
        if len(naps) == 3:
            pending(run_directory).unlink()

    monkeypatch.setattr(pending_memory.time, "sleep", sleep)
    pending_memory.wait(60)
    assert len(naps) == 3


def test_memory_that_does_not_come_in_is_an_error(run_directory):
    pending(run_directory).touch()
    with pytest.raises(KupError, match=r"for 0 s \(cache.service: restored, 5 pages left\)"):
        pending_memory.wait(0)


def test_memory_that_comes_in_is_waited_for_without_an_end(run_directory, monkeypatch):
    pending(run_directory).touch()
    left = iter(range(9, 0, -1))

    def said(_unit):
        number = next(left)
        if number == 1:
            pending(run_directory).unlink()
        return f"restored, {number} pages left"

    monkeypatch.setattr(pending_memory, "_said", said)
    pending_memory.wait(0)


def test_while_memory_is_pending_nothing_is_done(run_directory):
    pending_memory.refuse()
    pending(run_directory).touch()
    with pytest.raises(KupError, match="not in place yet"):
        pending_memory.refuse()


def test_lost_memory_is_told_by_its_mark(run_directory):
    assert not pending_memory.lost("cache.service")
    (run_directory / "cache.service.lost").touch()
    assert pending_memory.lost("cache.service")
