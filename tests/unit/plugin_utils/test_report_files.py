"""The files of a report: a row for each node, whatever its name, merged into one report, also after a kill."""

import json
import multiprocessing
import os
import re

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _report_files

RUN = "20261126T083000-1a2b3c"
STRANGE = [
    "node1",
    "Node1",
    "NODE1",
    "%4eode1",
    "%4Eode1",
    ".",
    "..",
    ".node1",
    "a/b",
    "a%2Fb",
    "../../../etc/passwd",
    "a b\nc",
    "a\0b",
    "\udcff",
    "\u00ff",
    "n\u00f6de",
    "no\u0308de",
    "[2001:db8::1]",
    "x" * 200,
    "x" * 201,
    "X" * 67,
    "=" + "0" * 64,
    "\u0130" * 5000,
]


@pytest.fixture(name="begun")
def _begun(tmp_path):
    """A directory with a rollout that has begun."""
    _report_files.update(str(tmp_path), RUN, {"batches": [["a"], ["b", "c"]], "started": 100.0, "kernel": "7.2"})
    return tmp_path


def written(path):
    return json.loads(path.read_text())


def results(report):
    return {node["name"]: node["result"] for node in report["nodes"]}


def test_names_of_files_are_safe_and_no_two_nodes_have_one():
    names = [_report_files.file_name(node) for node in STRANGE]
    assert all(re.fullmatch(r"[a-z0-9_%=A-F-][a-z0-9_.%A-F-]{0,200}\.json", name) for name in names)
    # Also where a file system takes 'A' for 'a'.
    assert len({name.lower() for name in names}) == len(STRANGE)
    assert _report_files.file_name("cache-1.example.net") == "cache-1.example.net.json"
    assert max(map(len, names)) <= 205


def test_rows_of_any_name_come_back(begun):
    for node in STRANGE:
        _report_files.write_row(str(begun), RUN, {"name": node, "result": "committed"})
    found = results(_report_files.read(str(begun)))
    assert found == {"a": "pending", "b": "pending", "c": "pending", **dict.fromkeys(STRANGE, "committed")}
    assert sorted(os.listdir(begun)) == [f".{RUN}.json.lock", f"{RUN}.json", "audit.jsonl", "report.json", "rows"]


def test_a_row_is_a_file_of_its_own(begun):
    before = (begun / f"{RUN}.json").read_text()
    _report_files.write_row(str(begun), RUN, {"name": "a", "kernel_before": "6.12", "result": "under_way"})
    row = _report_files.write_row(str(begun), RUN, {"name": "a", "result": "committed"})
    assert row == {"name": "a", "kernel_before": "6.12", "result": "committed"}
    assert written(begun / f"rows/{RUN}/a.json") == row
    assert (begun / f"{RUN}.json").read_text() == before


def test_a_killed_rollout_leaves_its_report(begun):
    _report_files.write_row(str(begun), RUN, {"name": "a", "result": "committed"})
    _report_files.write_row(str(begun), RUN, {"name": "b", "result": "under_way"})
    (begun / f"rows/{RUN}/.c.json.123").write_text('{"name": "c", "resu')
    assert results(_report_files.read(str(begun))) == {"a": "committed", "b": "under_way", "c": "pending"}
    assert written(begun / "report.json")["rollout"]["result"] == "running"
    last = os.stat(begun / f"rows/{RUN}/b.json").st_mtime
    os.utime(begun / f"{RUN}.json", (90.0, 90.0))
    report = _report_files.update(str(begun), RUN, finished=last + 5000, is_killed=True)
    assert results(report) == {"a": "committed", "b": "lost", "c": "untouched"}
    assert report["rollout"]["reason"] == "it was killed"
    assert report["rollout"]["wall_s"] == round(last - 100.0, 1)
    assert written(begun / "report.json") == report
    assert not (begun / "rows").exists()


def test_a_merge_in_between_keeps_the_rows(begun):
    _report_files.write_row(str(begun), RUN, {"name": "a", "result": "committed", "engine": "foam"})
    report = _report_files.update(str(begun), RUN)
    assert written(begun / "report.json") == report
    assert (begun / f"rows/{RUN}/a.json").exists()
    assert report["rollout"]["result"] == "running"


def test_the_end_removes_the_rows_of_its_rollout_only(begun):
    other = "20261125T083000-1a2b3c"
    _report_files.write_row(str(begun), other, {"name": "z", "result": "under_way"})
    _report_files.write_row(str(begun), RUN, {"name": "a", "result": "committed"})
    _report_files.update(str(begun), RUN, finished=160.0)
    assert os.listdir(begun / "rows") == [other]
    assert results(_report_files.read(str(begun), other)) == {"z": "under_way"}


def test_rows_are_counted_until_the_end(begun):
    assert _report_files.number_of_rows(begun, RUN) == 0
    for node in ("node1", "node2", "node1"):
        _report_files.write_row(begun, RUN, {"name": node})
    assert _report_files.claim(begun, RUN, "stop")
    assert _report_files.number_of_rows(begun, RUN) == 2


def test_an_event_is_claimed_once_and_leaves_nothing_behind(begun):
    _report_files.write_row(begun, RUN, {"name": "node1", "result": "committed"})
    assert [_report_files.claim(begun, RUN, event) for event in ("stop", "stop", "canary")] == [True, False, True]
    assert results(_report_files.update(begun, RUN))["node1"] == "committed"
    _report_files.update(begun, RUN, finished=2000.0)
    assert not os.path.exists(f"{begun}/rows")


def test_an_older_rollout_is_not_the_newest_when_it_is_merged(begun):
    older, newer = "20261125T083000-1a2b3c", "20261127T083000-1a2b3c"
    _report_files.update(str(begun), older, {"reason": ""})
    assert _report_files.newest(str(begun)) == RUN
    _report_files.update(str(begun), newer, {"started": 1.0})
    assert _report_files.newest(str(begun)) == newer
    # Ids that do not begin with the time
    _report_files.update(str(begun), "0", {"started": 1.0})
    assert _report_files.newest(str(begun)) == "0"


def test_the_end_is_in_the_report(begun):
    report = _report_files.update(str(begun), RUN, {"failed": []}, finished=160.24)
    assert written(begun / f"{RUN}.json") == report
    assert report["rollout"] == {
        "batches": [["a"], ["b", "c"]],
        "started": 100.0,
        "kernel": "7.2",
        "run_id": RUN,
        "failed": [],
        "wall_s": 60.2,
        "result": "stopped",
    }
    again = _report_files.update(str(begun), RUN, finished=500.0, is_killed=True)
    assert again == report


def _report_many(directory, worker):
    for number in range(10):
        _report_files.write_row(directory, RUN, {"name": f"node{worker}-{number}", "result": "committed"})
        if number % 5 == worker % 5:
            _report_files.update(directory, RUN)


def test_no_row_is_lost_when_many_report_at_once(begun):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_report_many, args=(str(begun), number)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = results(_report_files.update(str(begun), RUN, finished=200.0))
    assert list(found.values()).count("committed") == 80
    lines = [json.loads(line) for line in (begun / "audit.jsonl").read_text().splitlines()]
    assert sorted(line["node"] for line in lines if line["result"] == "committed" and line["node"]) == sorted(
        name for name, result in found.items() if result == "committed"
    )


@pytest.mark.parametrize("text", ["not JSON", "[]", "null and void", "{"])
@pytest.mark.parametrize("place", [f"{RUN}.json", f"rows/{RUN}/a.json"])
def test_what_is_no_report_is_refused_and_kept(begun, place, text):
    _report_files.write_row(str(begun), RUN, {"name": "a"})
    (begun / place).write_text(text)
    with pytest.raises(KupError, match=f"{place} is no report of a rollout.*move it away"):
        _report_files.update(str(begun), RUN, finished=1.0)
    assert (begun / place).read_text() == text


def test_a_row_that_is_no_row_is_refused(begun):
    _report_files.write_row(str(begun), RUN, {"name": "a"})
    (begun / f"rows/{RUN}/b.json").write_text('{"result": "committed"}')
    with pytest.raises(KupError, match="b.json is no row"):
        _report_files.read(str(begun))


@pytest.mark.parametrize("row", [{"result": "lost"}, {"name": None}, {"name": "a", "result": "great"}])
def test_a_bad_row_is_refused_and_nothing_is_written(begun, row):
    with pytest.raises(KupError, match="expected"):
        _report_files.write_row(str(begun), RUN, row)
    assert not list(begun.glob("rows/*/*"))


def test_a_link_in_the_place_of_the_rows_is_not_followed(begun, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (begun / "rows").symlink_to(outside)
    with pytest.raises(KupError, match="cannot be read or written"):
        _report_files.write_row(str(begun), RUN, {"name": "a"})
    assert not list(outside.iterdir())


@pytest.mark.parametrize("run_id", ["", "../x", ".hidden", "a/b", "a\n", "x" * 201])
def test_an_id_that_is_no_name_of_a_file_is_refused(tmp_path, run_id):
    for call in (_report_files.update, lambda *where: _report_files.write_row(*where, {"name": "a"})):
        with pytest.raises(KupError, match="run_id is"):
            call(str(tmp_path), run_id)
    assert not list(tmp_path.iterdir())


def test_a_rollout_that_never_was_has_no_report(begun):
    with pytest.raises(KupError, match="no report of a rollout 20000101; correct kup_run_id"):
        _report_files.update(str(begun), "20000101")
    assert not (begun / "20000101.json").exists()


def test_a_directory_without_reports_is_one_sentence(tmp_path):
    for directory in (tmp_path, tmp_path / "missing"):
        with pytest.raises(KupError, match="set kup_report_dir"):
            _report_files.newest(str(directory))
    assert not (tmp_path / "missing").exists()
    (tmp_path / "report.json").symlink_to("../elsewhere.json")
    with pytest.raises(KupError, match="set kup_report_dir"):
        _report_files.newest(str(tmp_path))


def test_a_directory_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(KupError, match="set kup_report_dir"):
        _report_files.update(str(tmp_path / "file"), RUN, {"started": 1.0})


def test_the_page_is_beside_the_report(begun):
    assert _report_files.write_page(str(begun), RUN, "page") == f"{begun}/{RUN}.html"
    assert (begun / "report.html").read_text() == "page"
    _report_files.write_page(str(begun), "20261125T083000-1a2b3c", "older")
    assert (begun / "report.html").read_text() == "page"


def test_a_plan_is_beside_the_reports_for_its_owner_only(tmp_path):
    """Whoever reads *.json of the folder wants reports."""
    path = _report_files.write_plan(f"{tmp_path}/new/reports", "20261126T1-a", {"nodes": []})
    assert path == f"{tmp_path}/new/reports/plans/20261126T1-a.json"
    assert not list((tmp_path / "new/reports").glob("*.json"))
    for each in (tmp_path / "new/reports", tmp_path / "new/reports/plans"):
        assert each.stat().st_mode & 0o777 == 0o700
