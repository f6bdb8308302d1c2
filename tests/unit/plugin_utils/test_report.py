"""The rollout's report: rows that are merged, the rollout's result, many writers, the table."""

import json
import multiprocessing
import stat

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _report


def report_of(**results):
    report = {}
    for name, result in results.items():
        report = _report.merge(report, row={"name": name, "result": result})
    return report


def test_every_node_of_the_batches_has_a_row_from_the_beginning():
    report = _report.merge({}, rollout={"batches": [["a"], ["b", "c"]]})
    assert [(node["name"], node["result"]) for node in report["nodes"]] == [(name, "pending") for name in "abc"]
    assert report["rollout"]["result"] == "running"


def test_a_row_keeps_what_a_later_call_does_not_mention():
    report = _report.merge({}, row={"name": "a", "kernel_before": "6.12", "result": "under_way"})
    report = _report.merge(report, row={"name": "a", "result": "committed"})
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
    report = _report.merge(report, finished=160.24)
    assert [node["result"] for node in report["nodes"]] == ["committed", "lost", "untouched"]
    assert report["nodes"][1]["reason"]
    assert (report["rollout"]["result"], report["rollout"]["wall_s"]) == ("stopped", 60.2)


@pytest.mark.parametrize("row", [{}, {"name": ""}, {"name": "a", "result": "great"}])
def test_a_bad_row_is_refused(row):
    with pytest.raises(KupError, match="expected"):
        _report.merge({}, row=row or {"result": "lost"})


def _report_many(path, worker):
    for number in range(10):
        _report.update(path, row={"name": f"node{worker}-{number}", "result": "committed"})


def test_no_row_is_lost_when_many_report_at_once(tmp_path):
    path = str(tmp_path / "reports" / "run.json")
    workers = [multiprocessing.get_context("fork").Process(target=_report_many, args=(path, n)) for n in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(_report.load(path)["nodes"]) == 80
    assert stat.S_IMODE((tmp_path / "reports").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "reports" / "run.json").stat().st_mode) == 0o600


def test_an_existing_directory_keeps_its_mode(tmp_path):
    tmp_path.chmod(0o755)
    _report.update(str(tmp_path / "run.json"), row={"name": "a"})
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_what_is_no_report_is_refused_and_kept(tmp_path):
    path = tmp_path / "run.json"
    path.write_text("not JSON")
    with pytest.raises(KupError, match="is no report"):
        _report.update(str(path), row={"name": "a"})
    assert path.read_text() == "not JSON"


def test_a_directory_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(KupError, match="set kup_report_dir"):
        _report.update(str(tmp_path / "file" / "run.json"), row={"name": "a"})


def test_table():
    report = _report.merge(
        report_of(node1="committed", node22="pending"),
        row={"name": "node1", "kernel_before": "6.12.1", "kernel_after": "7.2.3", "outage_s": 5.25},
        rollout={"run_id": "r1"},
    )
    report = _report.merge(
        report,
        row={
            "name": "node3",
            "result": "fell_back",
            "kernel_before": "6.12.1",
            "kernel_after": "6.12.1",
            "reason": "a\nb",
        },
    )
    assert _report.table(report) == [
        "node    kernel before -> after  result     outage  reason",
        "node1   6.12.1 -> 7.2.3         committed  5.2 s",
        "node22                          pending",
        "node3   6.12.1                  fell_back          a b",
        "rollout r1: stopped",
    ]


def test_the_report_can_be_read_by_anybody_who_knows_json(tmp_path):
    path = tmp_path / "run.json"
    _report.update(
        str(path), row={"name": "a", "result": "committed"}, rollout={"run_id": "r", "started": 1.0}, finished=3.0
    )
    assert json.loads(path.read_text()) == {
        "nodes": [{"name": "a", "result": "committed"}],
        "rollout": {"run_id": "r", "started": 1.0, "wall_s": 2.0, "result": "committed"},
    }


def test_a_plan_is_beside_the_reports_for_its_owner_only(tmp_path):
    """Whoever reads *.json of the folder wants reports."""
    path = _report.write_plan(f"{tmp_path}/new/reports", "20261126T1-a", {"nodes": []})
    assert path == f"{tmp_path}/new/reports/plans/20261126T1-a.json"
    assert not list((tmp_path / "new/reports").glob("*.json"))
    for each in (tmp_path / "new/reports", tmp_path / "new/reports/plans"):
        assert each.stat().st_mode & 0o777 == 0o700
