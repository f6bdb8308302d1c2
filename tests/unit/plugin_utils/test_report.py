"""The rollout's report: rows that are merged, the rollout's result, the table."""

import pytest
import yaml

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.modules.kup_report import DOCUMENTATION
from ansible_collections.kup.fleet.plugins.plugin_utils import _report


def report_of(**results):
    return _report.merge({}, [{"name": name, "result": result} for name, result in results.items()])


def test_every_node_of_the_batches_has_a_row_from_the_beginning():
    report = _report.merge({}, rollout={"batches": [["a"], ["b", "c"]]})
    assert [(node["name"], node["result"]) for node in report["nodes"]] == [(name, "pending") for name in "abc"]
    assert report["rollout"]["result"] == "running"


def test_a_row_keeps_what_a_later_call_does_not_mention():
    report = _report.merge({}, [{"name": "a", "kernel_before": "6.12", "result": "under_way"}])
    report = _report.merge(report, [{"name": "a", "result": "committed"}])
    assert report["nodes"] == [{"name": "a", "kernel_before": "6.12", "result": "committed"}]


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        (["committed", "up_to_date"], "committed"),
        (["up_to_date"], "committed"),
        (["committed", "pending"], "running"),
        (["under_way"], "running"),
        (["committed", "fell_back"], "partial"),
        (["fell_back"], "stopped"),
        (["partial"], "stopped"),
        (["committed", "partial"], "partial"),
        (["fell_back", "pending"], "stopped"),
        (["committed", "lost", "untouched"], "stopped"),
        (["committed", "untouched"], "stopped"),
        (["aborted", "failed"], "stopped"),
    ],
)
def test_result_of_the_rollout(results, expected):
    assert _report.result(results) == expected


def test_the_end_gives_every_node_a_result():
    report = _report.merge(report_of(a="committed", b="under_way", c="pending"), rollout={"started": 100.0})
    report = _report.close(report, 160.24)
    assert [node["result"] for node in report["nodes"]] == ["committed", "lost", "untouched"]
    assert report["nodes"][1]["reason"]
    assert (report["rollout"]["result"], report["rollout"]["wall_s"]) == ("stopped", 60.2)


def test_what_has_ended_is_left_as_it_is():
    closed = _report.close(_report.merge(report_of(a="pending"), rollout={"started": 100.0}), 160.0)
    assert _report.close(closed, 200.0) == closed


@pytest.mark.parametrize("row", [{"result": "lost"}, {"name": ""}, {"name": "a", "result": "great"}])
def test_a_bad_row_is_refused(row):
    with pytest.raises(KupError, match="expected"):
        _report.joined(None, row)


GOOD = {"committed", "returned", "up_to_date"}


def test_every_result_has_a_meaning_and_an_advice():
    documented = yaml.safe_load(DOCUMENTATION)["options"]["row"]["suboptions"]["result"]["choices"]
    assert set(documented) == set(_report.RESULTS) == set(_report.ADVICE)
    assert {result for result in _report.RESULTS if not _report.needs_attention(result)} == GOOD
    assert {result for result, advice in _report.ADVICE.items() if advice == "Nothing."} == GOOD


def test_a_way_back_has_a_result_and_advice_of_its_own():
    rows = [{"name": "a", "result": "returned"}, {"name": "b", "result": "up_to_date"}]
    assert _report.merge({}, rows, {"way": "back"})["rollout"]["result"] == "returned"
    assert (
        _report.merge({}, [*rows, {"name": "c", "result": "lost"}], {"way": "back"})["rollout"]["result"] == "partial"
    )
    assert _report.merge({}, rows[1:], {"way": "update"})["rollout"]["result"] == "committed"
    assert "run kup.fleet.kup_fallback again" in _report.advice("untouched", {"way": "back"})
    assert _report.advice("untouched", {}) == _report.ADVICE["untouched"]
    assert _report.advice("strange", {}) == ""


def test_table():
    rows = [
        {"name": "node1", "kernel_before": "6.12.1", "kernel_after": "7.2.3", "outage_s": 5.25},
        {"name": "node3", "result": "fell_back", "kernel_before": "6.12.1", "kernel_after": "6.12.1", "reason": "a\nb"},
    ]
    report = _report.merge(report_of(node1="committed", node22="pending"), rows, {"run_id": "r1"})
    assert _report.table(report) == [
        "node    kernel before -> after  result     outage  reason",
        "node1   6.12.1 -> 7.2.3         committed  5.2 s",
        "node22                          pending",
        "node3   6.12.1                  fell_back          a b",
        "rollout r1: stopped",
    ]


def test_no_text_of_a_node_moves_the_cursor():
    evil = "\x1b[2J\x1b]0;x\x07\nnode9  committed"
    rows = [{"name": "node1", "result": "failed", "reason": evil, "kernel_before": evil, "kernel_after": "7.2"}]
    lines = _report.table(_report.merge({}, rows, {"run_id": "r1", "reason": evil}))
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)
    assert r"\x1b[2J" in lines[1]
    assert r"\x1b[2J" in lines[2]


def test_a_summary_has_first_what_needs_attention_and_no_more_than_there_is_to_say():
    rows = [{"name": f"n{number}", "result": "committed", "outage_s": 1.5, "timeline": [1]} for number in range(600)]
    report = _report.merge({}, [*rows, {"name": "bad", "result": "fell_back", "reason": "Why.", "kernel_before": None}])
    found = _report.summary(report)
    assert found["nodes"][:2] == [
        {"name": "bad", "result": "fell_back", "reason": "Why."},
        {"name": "n0", "result": "committed", "outage_s": 1.5},
    ]
    assert (len(found["nodes"]), found["left_out"]) == (500, 101)


@pytest.mark.parametrize(
    ("rows", "way", "release"),
    [
        ([("committed", "7.2"), ("up_to_date", "7.2"), ("fell_back", "6.12")], "update", "7.2"),
        ([("committed", "7.2"), ("committed", "7.3")], "update", ""),
        ([("untouched", "6.12"), ("lost", None)], "update", ""),
        ([("committed", None)], "update", ""),
        ([("up_to_date", "6.12"), ("returned", "6.12")], "back", ""),
        ([], "update", ""),
    ],
)
def test_the_release_is_the_one_that_updated_nodes_run(rows, way, release):
    nodes = [{"name": f"n{i}", "result": result, "kernel_after": kernel} for i, (result, kernel) in enumerate(rows)]
    assert _report.release(_report.merge({}, nodes, {"way": way})) == release


def test_judgements_come_one_after_the_other_and_are_not_kept_without_end():
    report = _report.merge({}, rollout={"run_id": "r1", "judged": [{"name": "errors"}]})
    report = _report.merge(report, rollout={"judged": [{"name": "errors"}, {"name": "waits"}]})
    report = _report.merge(report, rollout={"reason": "x"})
    assert [each["name"] for each in report["rollout"]["judged"]] == ["errors", "errors", "waits"]
    report = _report.merge(report, rollout={"judged": [{"name": str(number)} for number in range(1000)]})
    assert [each["name"] for each in report["rollout"]["judged"]][::199] == ["800", "999"]
