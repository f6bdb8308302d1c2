# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of a rollout to its end, and of one that is killed in the middle: the real playbooks, with nodes of a table."""

from __future__ import annotations

import json
import re
import stat
import sys

import atonce
import pytest

from ansible_collections.kup.fleet.plugins.modules import kup_textfile
from lab.report import read_report
from tests.exposition import parse
from tests.rollout.answers import NEW
from tests.rollout.nodes import Rollout

GIVEN = {"kup_kernel": "7.2", "kup_units": ["memcached.service"]}
GATE_FAILS = {"kup_gate judge": {"answer": {"failed": True, "msg": "<i>Port 11211</i> does not answer."}}}
LOCAL = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
# Ends ansible-playbook as an out-of-memory kill would: the first of the program's processes, seen from one of its tasks.
KILL = """
import os, pathlib, signal

def parent(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

def is_playbook(pid):
    return b"ansible-playbook" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()

pid = os.getpid()
while not is_playbook(pid):
    pid = parent(pid)
while is_playbook(parent(pid)):
    pid = parent(pid)
os.kill(pid, signal.SIGKILL)
"""


def trail(folder):
    lines = (folder / "report/audit.jsonl").read_text().splitlines()
    return [(line["event"], line["node"], line["result"]) for line in map(json.loads, lines)]


def end(folder):
    """(folder, how the run ended) of a rollout whose second node fails, and has a strange name."""
    metrics = {"kup_rollout_textfile": f"{folder}/kup_rollout.prom", "kup_textfile_dir": "/collector"}
    return folder, Rollout(folder, {"node1": {}, "<b>Node2": GATE_FAILS, "node3": {}}).run("-v", **GIVEN, **metrics)


def test_the_end_leaves_one_report(ended):
    folder, done = ended
    assert done.results == {"node1": "committed", "<b>Node2": "fell_back", "node3": "untouched"}
    run_id = done.report["rollout"]["run_id"]
    assert sorted(path.name for path in (folder / "report").iterdir()) == sorted(
        [
            f".{run_id}.json.lock",
            f"{run_id}.html",
            f"{run_id}.json",
            "audit.jsonl",
            "plans",
            "report.html",
            "report.json",
        ]
    )
    assert read_report(folder / "report") == done.report
    assert f"The report is {folder}/report/{run_id}.json, as a page {folder}/report/{run_id}.html" in done.said


def test_it_is_for_its_owner_only(ended):
    folder, _done = ended
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in [folder / "report", *(folder / "report").iterdir()]
    }
    assert {modes.pop("report"), modes.pop("plans")} == {0o700}
    assert set(modes.values()) == {0o600}


def test_the_page_says_the_same(ended):
    folder, done = ended
    text = (folder / "report/report.html").read_text()
    assert f"<h1>Rollout {done.report['rollout']['run_id']}: stopped</h1>" in text
    assert "&lt;b&gt;Node2" in text and "&lt;i&gt;Port 11211&lt;/i&gt; does not answer." in text
    assert "<b>" not in text and "<i>" not in text


def test_every_change_is_in_the_trail(ended):
    folder, _done = ended
    found = trail(folder)
    assert (found[0], found[-1]) == (("rollout_began", "", ""), ("rollout_ended", "", "stopped"))
    assert [event for event in found if event[1]] == [
        ("node", "node1", "under_way"),
        ("node", "node1", "committed"),
        ("node", "<b>Node2", "under_way"),
        ("node", "<b>Node2", "fell_back"),
        ("node", "node3", "untouched"),
    ]


def test_an_event_of_a_node_has_its_own_row_only(ended):
    _folder, done = ended
    events = re.findall(r"^ok: \[node1\] => *\n((?:    .*\n)+)", done.output, re.MULTILINE)
    events = [event for event in events if "    row:\n" in event]
    assert len(events) == 3
    assert not [event for event in events if "Node2" in event or "node3" in event or "batches" in event]


def test_the_end_leaves_metrics_of_the_rollout(ended):
    folder, done = ended
    found = parse((folder / "kup_rollout.prom").read_text())
    counts = {dict(labels)["result"]: value for labels, value in found["kup_rollout_nodes"].items() if value}
    assert counts == {"committed": 1.0, "fell_back": 1.0, "untouched": 1.0}
    assert found["kup_rollout_ended"] == {(): 1.0}
    assert done.report["rollout"]["run_id"] in str(found["kup_rollout_info"])


def test_each_node_that_had_its_turn_has_metrics_of_its_update(ended):
    folder, _done = ended
    left = {path.stem: json.loads(path.read_text()) for path in (folder / "nodes").glob("*.metrics")}
    assert {node: each["update"]["result"] for node, each in left.items()} == {
        "node1": "committed",
        "<b>Node2": "fell_back",
    }
    assert {each["directory"] for each in left.values()} == {"/collector"}
    found = parse(kup_textfile.files({"status": None, "update": left["node1"]["update"]})["kup_update.prom"])
    assert found["kup_last_update_outage_seconds"] == {(): 1.5}
    (labels,) = found["kup_last_update_info"]
    assert dict(labels)["kernel_after"] == NEW


def killing(folder):
    """A hook that ends the rollout."""
    (folder / "kill.py").write_text(KILL)
    task = {
        "ansible.builtin.command": {"argv": [sys.executable, str(folder / "kill.py")]},
        "delegate_to": "localhost",
        "vars": LOCAL,
    }
    (folder / "hook.yml").write_text(json.dumps([task]))
    return {"after_switch": str(folder / "hook.yml")}


def fill(folder):
    """How a rollout ends whose report cannot be written during the switch of its node."""
    rows = f"{folder}/report/rows"
    hooks = {}
    # Where no node has a row yet, a file takes the place of their directory.
    for event, program in (("before_switch", "touch"), ("after_switch", "rm")):
        task = {"ansible.builtin.command": {"argv": [program, rows]}, "delegate_to": "localhost", "vars": LOCAL}
        (folder / f"{event}.yml").write_text(json.dumps([task]))
        hooks[event] = str(folder / f"{event}.yml")
    return Rollout(folder, {"node1": {}}).run(**GIVEN, kup_hooks=hooks)


def kill(folder):
    """What a killed rollout has left: (folder, how it ended, report as it stands, then with the playbook and at its word)."""
    rollout = Rollout(folder, {"node1": {}, "node2": {}})
    done = rollout.run(**GIVEN, kup_hooks=killing(folder), kup_rollout_textfile=f"{folder}/kup_rollout.prom")
    stands = read_report(folder / "report")
    return (
        folder,
        done,
        stands,
        rollout.run(playbook="kup_report"),
        rollout.run(playbook="kup_report", kup_rollout_killed=True),
    )


def ask(folder):
    """How the playbook ends where there is no report."""
    return Rollout(folder, {"node1": {}}).run(playbook="kup_report")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    # The longest first.
    return atonce.each(lambda run: run(tmp_path_factory.mktemp(run.__name__)), (kill, end, fill, ask))


@pytest.fixture(scope="module")
def ended(runs):
    return runs[end]


@pytest.fixture(scope="module")
def killed(runs):
    return runs[kill]


def test_a_row_that_cannot_be_written_takes_no_node_out_of_its_update(runs):
    done = runs[fill]
    assert (done.code, done.results) == (0, {"node1": "committed"})
    assert "cannot be read or written: [Errno 20] Not a directory" in done.said


def test_what_a_kill_leaves_is_known(killed):
    _folder, done, stands, _asked, _closed = killed
    assert done.code == -9
    # As it was when the batches were made.
    assert done.results == {"node1": "pending", "node2": "pending"}
    assert {row["name"]: row["result"] for row in stands["nodes"]} == {"node1": "under_way", "node2": "pending"}
    assert stands["rollout"]["batches"] == [["node1"], ["node2"]]


def test_metrics_say_what_is_in_flight(killed):
    folder, *_runs = killed
    found = parse((folder / "kup_rollout.prom").read_text())
    assert found["kup_rollout_nodes_in_flight"] == {(): 1.0}
    assert found["kup_rollout_ended"] == {(): 0.0}


def test_the_playbook_brings_it_up_to_date(killed):
    folder, _done, stands, asked, _closed = killed
    assert asked.code == 0
    assert asked.report == stands
    assert "node1 6.12.1-amd64 under_way" in asked.said
    assert (folder / "report/report.html").exists()


def test_the_playbook_closes_it_when_it_is_told_so(killed):
    folder, _done, _stands, asked, closed = killed
    assert closed.code == 0
    assert closed.results == {"node1": "lost", "node2": "untouched"}
    assert closed.report["rollout"]["reason"] == "it was killed"
    assert not (folder / "report/rows").exists()
    assert trail(folder)[-1] == ("rollout_ended", "", "stopped")
    assert asked.asked == closed.asked


def test_the_playbook_says_where_there_is_no_report(runs):
    done = runs[ask]
    assert done.code != 0
    assert "set kup_report_dir, or give the rollout's id" in done.said.replace("''", "'")
    assert done.asked == []
