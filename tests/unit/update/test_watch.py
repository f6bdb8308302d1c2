"""When a node on probation judges itself, and what it takes to send it back."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import kernels
from ansible_collections.kup.fleet.plugins.module_utils._engines import pending_memory
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import record, service, watch

PROBATION = {
    "PHASE": "probation",
    "KERNEL_OLD": "6.12.1",
    "KERNEL_NEW": "7.2.1",
    "CHECKPOINT": "3",
    "UNITS": "a.service b.service",
}
# The command is the only check that can fail here.
CHECKS = {"units": [], "ports": [], "uris": [], "numbers": []}


@pytest.fixture(name="went_back")
def _went_back(tmp_path, monkeypatch):
    """A node on probation, and the reasons for which it went back."""
    reasons = []
    monkeypatch.setattr(watch, "CHECKS", str(tmp_path / "checks.json"))
    monkeypatch.setattr(watch, "STATE", str(tmp_path))
    monkeypatch.setattr(watch, "_COUNT", str(tmp_path / "watch"))
    monkeypatch.setattr(watch, "BOOT", str(tmp_path))
    monkeypatch.setattr(watch, "Unit", lambda name: name)
    monkeypatch.setattr(watch.gate, "runs_anew", lambda unit: False)
    monkeypatch.setattr(record, "load", lambda: record.Record(PROBATION))
    monkeypatch.setattr(kernels, "running", lambda: "7.2.1")
    monkeypatch.setattr(pending_memory, "units", list)
    monkeypatch.setattr(service, "go_back", reasons.append)
    return reasons


def keep(*argv, **more):
    watch.save({**CHECKS, "commands": [{"argv": list(argv)}] if argv else [], **more})


def look(times):
    for _time in range(times):
        watch.look()


def test_it_goes_back_when_a_check_fails_three_times_in_a_row(went_back):
    keep("false")
    look(2)
    assert not went_back
    look(1)
    assert len(went_back) == 1
    assert went_back[0].startswith(
        "its own checks failed 3 times in a row: Command 1 of kup_gate_commands (false) ended with 1"
    )


def test_a_check_that_recovers_starts_the_count_anew(went_back, tmp_path):
    keep("test", "-e", str(tmp_path / "good"))
    look(2)
    (tmp_path / "good").touch()
    look(1)
    (tmp_path / "good").unlink()
    look(2)
    assert not went_back


def test_it_goes_on_to_ask_for_the_way_back(went_back, monkeypatch, capsys):
    def refuse(_reason):
        raise KupError("Another operation is under way.")

    keep("false")
    monkeypatch.setattr(service, "go_back", refuse)
    look(3)
    assert "Another operation is under way." in capsys.readouterr().err
    monkeypatch.setattr(service, "go_back", went_back.append)
    look(3)
    assert len(went_back) == 1


def test_it_does_not_freeze_the_applications_for_ever(went_back):
    keep("false")
    look(3 * 25)
    assert len(went_back) == 20


@pytest.mark.parametrize(
    "phase", ["prepared", "checkpointing", "switching", "returning", "committed", "fell_back", "failed"]
)
def test_only_a_trial_is_watched(went_back, monkeypatch, phase):
    keep("false")
    monkeypatch.setattr(record, "load", lambda: record.Record(PROBATION, PHASE=phase))
    look(4)
    assert not went_back


def test_the_old_kernel_is_not_watched(went_back, monkeypatch):
    keep("false")
    monkeypatch.setattr(kernels, "running", lambda: "6.12.1")
    look(4)
    assert not went_back


def test_nothing_is_judged_while_memory_flows(went_back, monkeypatch):
    keep("false")
    monkeypatch.setattr(pending_memory, "units", lambda: ["memcached.service"])
    look(4)
    assert not went_back


def test_without_checks_there_is_nothing_to_watch(went_back):
    look(4)
    assert not went_back


def test_a_number_may_drop_but_must_be_told(went_back, monkeypatch):
    asked = []

    def judge(**checks):
        asked.extend(checks["numbers"])
        return [], {}

    monkeypatch.setattr(watch.gate, "judge", judge)
    keep(numbers=[{"name": "items", "at_least": 0.99}])
    look(1)
    assert asked == [{"name": "items", "at_least": 0.0}]
    assert not went_back


def test_a_unit_that_was_started_anew_is_noted_once_and_for_good(went_back, monkeypatch, tmp_path):
    (tmp_path / "3").mkdir()
    monkeypatch.setattr(pending_memory, "units", lambda: ["b.service"])
    monkeypatch.setattr(watch.gate, "runs_anew", lambda unit: unit == "a.service")
    look(2)
    assert [path.name for path in (tmp_path / "3").iterdir()] == ["ended-a.service"]
