"""docs/cases.json and the page that is made from it."""

import json

import pytest

from tests.cases import record, table
from tests.cases.guest.declared import Case, names

RECORDED, PAGE = record.ROWS, table.PAGE


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "ROWS", tmp_path / "cases.json")
    monkeypatch.setattr(record, "BEFORE", tmp_path / "before.json")
    monkeypatch.setattr(record, "KNOCKS", tmp_path / "filter.json")
    monkeypatch.setattr(record, "commit", lambda: "c0ffee")


def row(result="right", sentence="", **more):
    return {"case": "ktls", "engine": "foam", "way": "update", "result": result, "sentence": sentence, **more}


def rows():
    return json.loads(record.ROWS.read_text(encoding="utf-8"))


def test_a_row_takes_the_place_of_the_last_one_and_says_what_was_before():
    record.before(row("wrong", "plain is True, was False"))
    record.append(row("lost", "nobody answers"))
    record.append(row())
    record.append(row(way="fallback"))
    assert rows() == [
        {**row(way="fallback"), "before": "", "commit": "c0ffee"},
        {**row(), "before": "wrong: plain is True, was False", "commit": "c0ffee"},
    ]


def test_each_update_with_a_client_outside_is_kept():
    for answered in (0, 2):
        record.knocked("foam", "update", {"tried": 7, "answered": answered})
    assert record.read(record.KNOCKS) == [
        {"engine": "foam", "way": "update", "tried": 7, "answered": answered, "commit": "c0ffee"} for answered in (0, 2)
    ]
    assert "During 2 updates and ways back" in table.page([], [], [], record.read(record.KNOCKS))


def test_nothing_is_recorded_of_a_sample():
    record.nowhere(row())
    assert not record.ROWS.exists()


def test_the_page_marks_what_may_not_be():
    recorded = [
        {**row("refused", "It has a socket with kernel TLS."), "before": "wrong: plain", "commit": "c0ffee"},
        {**row("lost", "gone | away", way="fallback"), "before": "", "commit": "c0ffee"},
    ]
    text = table.page(recorded, [{**row(engine="ppp"), "commit": "before"}], [Case("ktls")])
    assert "| `foam` | update | refused: It has a socket with kernel TLS. | wrong: plain |" in text
    assert "| `foam` | fallback | **lost**: gone \\| away |  |" in text
    assert "Of these, 1 are not" in text
    assert "| `ppp` | update | right |" in text


def test_the_page_of_the_tree_is_made_from_its_results():
    if RECORDED.exists():
        known = [Case(name) for name in names()]
        before = record.read(table.BEFORE)
        assert PAGE.read_text(encoding="utf-8") == table.page(
            record.read(RECORDED), before, known, record.read(table.KNOCKS)
        )
