"""The audit trail: who began what, and what became of each node, a line for each."""

import datetime
import io
import json
import os
import pwd
import stat

import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _report_audit, _report_files

RUN = "20261126T083000-1a2b3c"


def trail(directory):
    return [json.loads(line) for line in (directory / "audit.jsonl").read_text().splitlines()]


def test_a_rollout_from_its_beginning_to_its_end(tmp_path):
    where = (str(tmp_path), RUN)
    _report_files.update(*where, {"batches": [["a", "b", "c"]], "started": 1.0})
    _report_files.write_row(*where, {"name": "a", "result": "pending"})
    _report_files.write_row(*where, {"name": "a", "result": "under_way"})
    _report_files.write_row(*where, {"name": "a", "result": "under_way", "engine": "foam"})
    _report_files.write_row(*where, {"name": "a", "result": "fell_back", "reason": "Port 1 does not answer."})
    _report_files.write_row(*where, {"name": "b", "result": "under_way"})
    _report_files.update(*where, {"reason": "a failed"}, finished=2.0)
    _report_files.update(*where, finished=3.0)
    found = trail(tmp_path)
    assert [(line["event"], line["node"], line["result"], line["reason"]) for line in found] == [
        ("rollout_began", "", "", ""),
        ("node", "a", "under_way", ""),
        ("node", "a", "fell_back", "Port 1 does not answer."),
        ("node", "b", "under_way", ""),
        ("node", "b", "lost", "the node could not be reached any more"),
        ("node", "c", "untouched", ""),
        ("rollout_ended", "", "stopped", "a failed"),
    ]
    assert {(line["run_id"], line["user"]) for line in found} == {(RUN, _report_audit.user())}
    assert all(list(line) == ["time", "event", "run_id", "user", "node", "result", "reason"] for line in found)


def test_it_only_grows_and_is_for_its_owner(tmp_path):
    for number in range(2):
        _report_files.update(str(tmp_path), f"run{number}", {"started": 1.0})
    assert [line["run_id"] for line in trail(tmp_path)] == ["run0", "run1"]
    assert stat.S_IMODE((tmp_path / "audit.jsonl").stat().st_mode) == 0o600


def test_the_time_is_that_of_the_world():
    line = json.loads(_report_audit.line("node", "", RUN))
    assert line["time"].endswith("Z")
    age = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(line["time"])
    assert abs(age.total_seconds()) < 60


def test_a_reason_is_one_line_whatever_it_is():
    text = _report_audit.line("node", "", RUN, "a\nb", "lost", "one\r\ntwo\u2028\x1b[2J")
    assert text.isascii() and text.isprintable() is False and text.count("\n") == 1
    assert text.rstrip("\n").isprintable()
    assert json.loads(text)["node"] == "a\nb"


def test_every_line_has_the_user_who_is_known(tmp_path):
    where = (str(tmp_path), RUN)
    _report_files.update(*where, {"batches": [["a", "b"]], "started": 1.0}, user="alice, AWX job 7")
    _report_files.write_row(*where, {"name": "a", "result": "committed"}, "alice, AWX job 7")
    _report_files.update(*where, finished=3.0, user="alice, AWX job 7")
    assert [(line["event"], line["user"]) for line in trail(tmp_path)] == [
        (event, "alice, AWX job 7") for event in ("rollout_began", "node", "node", "rollout_ended")
    ]


@pytest.mark.parametrize(
    ("login", "expected"), [("4294967295", "process"), ("0", "root"), ("", "process"), ("4294967000", "4294967000")]
)
def test_the_user_is_who_has_logged_in(monkeypatch, login, expected):
    monkeypatch.setattr("builtins.open", lambda *_args, **_options: io.StringIO(login))
    assert _report_audit.user() == {"process": pwd.getpwuid(os.getuid()).pw_name}.get(expected, expected)


def test_environment_does_not_name_the_user(monkeypatch):
    before = _report_audit.user()
    for name in ("USER", "LOGNAME", "SUDO_USER"):
        monkeypatch.setenv(name, "mallory")
    assert _report_audit.user() == before != "mallory"
