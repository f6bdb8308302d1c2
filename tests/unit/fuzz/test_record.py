import pytest

from tests.fuzz import record
from tests.fuzz.targets import Target, targets

TURN = {"program": "paged", "target": "stream", "cpu_s": 90.0, "units": 7, "edges": 3, "failures": 0, "commit": "abc"}


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "ROWS", tmp_path / "results.jsonl")
    record.append(TURN)
    record.append({**TURN, "cpu_s": 30.0, "edges": 5, "failures": 1})


def test_a_target_has_had_the_time_of_all_its_turns(rows):
    assert record.spent() == {Target("paged", "stream"): 120.0}


def test_the_page_adds_up_the_turns_and_names_the_failures():
    page = record.page([TURN, {**TURN, "cpu_s": 30.0, "units": None, "edges": 5, "failures": 1}])

    assert "| paged | stream | 2 min | 7 | 5 | 1 |" in page


def test_all_programs_that_have_targets_are_found():
    assert {target.program for target in targets()} == {"environment", "fingerprint", "paged"}
