import random

import pytest

from tests.faults import cases, choose, table, victim

ROW = {
    "case": "redis foam early panic", "victim": "redis", "engine": "foam", "point": "early", "fault": "panic", "fired": True,
    "phase": "fell_back", "data": "running", "wrong": [], "outage_s": 40.0, "commit": "abc",
}  # fmt: skip


@pytest.fixture
def tried(monkeypatch):
    """The rows of all faults that have a result."""
    rows = []
    monkeypatch.setattr(choose.results, "read", lambda _path: rows)
    random.seed(7)
    return rows


def test_each_fault_is_tried_without_an_application_and_beside_each():
    alone = [case.name for case in cases.cases() if not case.victim]

    for name in victim.NAMES:
        assert [case.name for case in cases.cases() if case.victim == name] == [f"{name} {other}" for other in alone]


def test_the_faults_of_an_application_come_one_after_the_other(tried):
    victims = [case.victim for case in choose.chosen("", None, sample=False)]

    changes = sum(one != other for one, other in zip(victims, victims[1:], strict=False))
    assert changes == len(victim.NAMES)


def test_a_fault_with_a_result_is_not_tried_again(tried):
    tried.append(ROW)

    names = [case.name for case in choose.chosen("early panic", None, sample=False)]
    assert "redis foam early panic" not in names
    assert "nginx foam early panic" in names


def test_a_sample_needs_no_further_packages(tried):
    tried.extend([ROW, {**ROW, "case": "foam early panic", "victim": ""}])

    assert [case.name for case in choose.chosen("", None, sample=True)] == ["foam early panic"]


def test_the_page_counts_the_faults_beside_each_application_and_names_the_bad_ones():
    bad = {**ROW, "case": "redis ppp early panic", "engine": "ppp", "wrong": ["redis-server.service is failed"]}
    page = table.page([ROW, bad], [])

    assert "| redis | 0 | 1 | 1 | 0 | **redis ppp early panic**: redis-server.service is failed |" in page
