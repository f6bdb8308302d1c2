# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rehearsal of the dump: what each unit goes through, which verdict it gets, and for how long that counts."""

import contextlib
import json
import os
import re
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils import _again as again
from ansible_collections.kup.fleet.plugins.module_utils._blocker import Blocked
from ansible_collections.kup.fleet.plugins.module_utils._criu import examination
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import checkpoints, fingerprint, rehearsal
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records

A, B = "a.service", "b.service"


@pytest.fixture
def stage(node, record, monkeypatch, tmp_path):
    """The node with a fake dump. ``memory``, ``lacking``, ``programs``; ``frozen``: seconds; ``failing``: step → what CRIU is then."""
    found = types.SimpleNamespace(
        node=node, memory=0.5, lacking="", programs="", frozen=0.1, failing={}, criu="4.2", identity={}
    )

    class Dump:
        refused = killed = False

        def __init__(self, unit, directory, settings, limit):
            self.unit, self.directory, self.settings, self.limit = unit, directory, settings, limit
            self.findings, self.frozen, self.attributes = None, 0.0, None

        def freeze_forecast(self):
            return found.memory

        def __getattr__(self, step):
            def act(*arguments):
                node.note(f"{step} {self.unit.name[0]}")
                if step == "pre_copy_again":
                    os.makedirs(self.directory)
                if step == "freeze":
                    self.frozen = found.frozen
                if step in found.failing:
                    for name in found.failing[step]:
                        setattr(self, name, True)
                    raise KupError(f"CRIU could not dump {self.unit.name}: in {step}.")

            return act

    plain = checkpoints.Unit

    def unit(name):
        made = plain(name)
        made.rss = 3 << 20
        return made

    def process(pid):
        return types.SimpleNamespace(started=found.identity.get(pid, "77"))

    for module, name, fake in (
        (again, "TRIES", 1),
        (rehearsal, "REHEARSAL_IMAGES", str(tmp_path / "rehearsal")),
        (rehearsal, "REHEARSALS", str(tmp_path / "rehearsals.json")),
        (rehearsal, "STATE", str(tmp_path)),
        (rehearsal, "_LAST_BREATH", 0),
        (rehearsal, "Unit", unit),
        (checkpoints, "Unit", unit),
        (rehearsal, "Process", process),
        (rehearsal.dumps, "Rehearsal", Dump),
        (rehearsal.dumps, "lacking", lambda: found.lacking),
        (
            rehearsal.pairs,
            "refuse_strangers",
            lambda checkpoint, beside: node.note(f"look at ends, {len(beside)} units"),
        ),
        (rehearsal.fingerprint, "lacking", lambda: found.programs),
        (rehearsal.criu_command, "version", lambda: found.criu),
        (rehearsal.timeline, "boot_id", lambda: found.identity.get("boot", "this boot")),
    ):
        monkeypatch.setattr(module, name, fake)
    return found


def unit(name=A, main_pid=100):
    return types.SimpleNamespace(name=name, main_pid=main_pid)


def test_each_unit_is_dumped_by_the_steps_of_the_switch_and_goes_on_before_the_next(stage):
    results = rehearsal.rehearse([A, B], 2.0)
    assert results == {name: {"verdict": "passed", "sentence": "", "frozen_s": 0.1} for name in (A, B)}
    steps = [event for event in stage.node.events if event.endswith(" a") or re.search("packets|watchdogs", event)]
    assert steps == [
        "examine a",
        "extend watchdogs of 1",
        "pre_copy_again a",
        "start a",
        "wait_ready a",
        "before_freeze a",
        "lock packets",
        "freeze a",
        "wait_complete a",
        "resume a",
        "release packets",
        "release watchdogs",
        "extend watchdogs of 1",
        "lock packets",
        "release packets",
        "release watchdogs",
    ]
    assert stage.node.in_order("resume a", "examine b")
    assert not any(event.startswith("record") for event in stage.node.events)
    assert f"fingerprint of 1 in {stage.node.directory}/rehearsal/0-{A}" in stage.node.events


def test_nothing_is_left_of_the_images(stage, tmp_path):
    (tmp_path / "rehearsal/0-old.service").mkdir(parents=True)
    rehearsal.rehearse([A], 2.0)
    assert not (tmp_path / "rehearsal").exists()
    assert os.stat(tmp_path / "rehearsals.json").st_mode & 0o777 == 0o600


def test_units_are_examined_with_those_that_travel_with_them(stage, monkeypatch):
    seen = []
    found = examination.Findings(lock="nftables")
    monkeypatch.setattr(checkpoints.examination, "examine", lambda unit, carried, criu: seen.append(carried) or found)
    rehearsal.rehearse([A, B], 2.0)
    assert seen == [frozenset({A, B})] * 2


@pytest.mark.parametrize("step", ["start", "wait_ready", "wait_complete"])
def test_what_criu_refuses_is_told_for_each_unit(stage, step):
    stage.failing = {step: ["refused"]}
    results = rehearsal.rehearse([A, B], 2.0)
    assert [result["verdict"] for result in results.values()] == ["refused", "refused"]
    found = rehearsal.refusals(results)
    assert [(blocker.code, blocker.unit) for blocker in found] == [("dump-refused", A), ("dump-refused", B)]
    assert (
        found[0]
        .sentence()
        .startswith(f"{A} cannot be dumped, as the rehearsal has shown: CRIU could not dump {A}: in {step};")
    )
    assert stage.node.in_order("resume a", "resume b")


@pytest.mark.parametrize(("times", "verdict", "dumps"), [(1, "passed", 2), (2, "passed", 3), (3, "refused", 3)])
def test_what_passes_by_itself_is_no_refusal(stage, monkeypatch, times, verdict, dumps):
    monkeypatch.setattr(again, "TRIES", 3)
    failures = iter([KupError("a.service has a unix connection to D-Bus.")] * times)

    def record(trees, directory):
        failure = next(failures, None)
        if failure:
            raise failure

    monkeypatch.setattr(fingerprint, "record", record)
    assert rehearsal.rehearse([A], 2.0)[A]["verdict"] == verdict
    assert stage.node.events.count("freeze a") == stage.node.events.count("resume a") == dumps


def test_what_cannot_be_recorded_in_the_freeze_is_refused_as_well(stage, monkeypatch):
    def record(trees, directory):
        raise KupError("The fingerprint of a.service cannot be recorded: a socket.")

    monkeypatch.setattr(fingerprint, "record", record)
    assert rehearsal.rehearse([A], 2.0)[A]["verdict"] == "refused"
    assert stage.node.in_order("resume a", "release packets")


def test_a_unit_that_cannot_be_asked_is_refused_and_the_others_are_rehearsed(stage, monkeypatch):
    answers = iter([KupError("Thread 100 cannot be traced."), {}])

    def ask(processes):
        answer = next(answers)
        if answer:
            raise answer
        return answer

    monkeypatch.setattr(checkpoints.attributes, "ask", ask)
    results = rehearsal.rehearse([A, B], 2.0)
    assert [result["verdict"] for result in results.values()] == ["refused", "passed"]
    assert results[A]["sentence"] == "Thread 100 cannot be traced."
    assert not {"start a", "freeze a"} & set(stage.node.events)


@pytest.mark.parametrize("is_now", [[], ["killed"]])
def test_a_failure_of_the_rehearsal_itself_is_no_refusal(stage, tmp_path, is_now):
    stage.failing = {"wait_complete": is_now}
    with pytest.raises(KupError, match="could not dump a.service"):
        rehearsal.rehearse([A], 2.0)
    assert not (tmp_path / "rehearsals.json").exists()
    assert not (tmp_path / "rehearsal").exists()
    assert stage.node.in_order("resume a", "release packets")


def test_a_unit_that_has_not_survived_is_told(stage, monkeypatch):
    monkeypatch.setattr(rehearsal.network_lock, "release", lambda: stage.node.main_pids.update({A: 200}))
    with pytest.raises(KupError, match="main process 200 .* expected 100"):
        rehearsal.rehearse([A], 2.0)


def test_what_the_examination_finds_ends_it_before_any_freeze(stage):
    stage.node.unfit = {B}
    with pytest.raises(Blocked, match="has a device open"):
        rehearsal.rehearse([B], 2.0)
    stage.node.unfit, stage.node.sandboxed = set(), True
    with pytest.raises(Blocked):  # by what the processes tell of themselves
        rehearsal.rehearse([A], 2.0)
    assert not {"freeze a", "freeze b"} & set(stage.node.events)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"lacking": "it is off"}, r"a\.service is not rehearsed: it is off\.$"),
        ({"programs": "it is not there"}, r"a\.service is not rehearsed: it is not there\.$"),
        (
            {"memory": 2.1},
            r"with 3 MiB of memory it may be frozen for 2\.1 s, expected 2 s at most; raise kup_rehearse_max",
        ),
    ],
)
def test_a_unit_whose_freeze_would_be_long_is_left_alone(stage, fields, says):
    vars(stage).update(fields)
    result = rehearsal.rehearse([A], 2.0)[A]
    assert result["verdict"] == "skipped"
    assert result["frozen_s"] == 0
    assert re.search(says, result["sentence"])
    assert not {"start a", "extend watchdogs of 1"} & set(stage.node.events)


def test_a_refusal_is_one_however_long_it_took(stage):
    stage.frozen, stage.failing = 2.5, {"wait_complete": ["refused"]}
    assert rehearsal.rehearse([A], 2.0)[A]["verdict"] == "refused"


@pytest.mark.parametrize("step", ["start", "wait_ready", "freeze", "wait_complete"])
@pytest.mark.parametrize("is_now", [[], ["refused"], ["killed"]])
def test_the_watchdog_is_put_back_when_the_tree_runs_again_whatever_happened(stage, step, is_now):
    stage.failing, stage.frozen = {step: is_now}, 2.5
    with contextlib.suppress(KupError):
        rehearsal.rehearse([A], 2.0)
    assert stage.node.in_order("extend watchdogs of 1", "resume a", "release packets", "release watchdogs")


def test_a_watchdog_that_cannot_be_extended_is_told_before_any_freeze(stage):
    stage.node.failing = {"extend watchdogs of 1": KupError("The watchdog of a.service could not be extended.")}
    with pytest.raises(KupError, match="watchdog of a.service"):
        rehearsal.rehearse([A], 2.0)
    assert "start a" not in stage.node.events
    assert "release watchdogs" in stage.node.events  # some may have been


def test_the_watchdog_is_put_back_where_the_rehearsal_is_stopped(stage, monkeypatch):
    def stop(trees, directory):
        raise KeyboardInterrupt

    monkeypatch.setattr(fingerprint, "record", stop)
    with pytest.raises(KeyboardInterrupt):
        rehearsal.rehearse([A], 2.0)
    assert stage.node.in_order("resume a", "release packets", "release watchdogs")


def test_a_dump_that_takes_too_long_is_no_refusal(stage):
    stage.frozen, stage.failing = 2.5, {"wait_complete": []}
    result = rehearsal.rehearse([A], 2.0)[A]
    assert result["verdict"] == "skipped"
    assert "was ended after 2.5 s, expected 2 s at most" in result["sentence"]


@pytest.mark.parametrize("phase", ["checkpointing", "switching", "probation", "returning"])
def test_no_unit_is_frozen_while_an_update_is_under_way(stage, record, phase):
    record["PHASE"] = phase
    records.save(record)
    with pytest.raises(KupError, match=f"in phase '{phase}'"):
        rehearsal.rehearse([A], 2.0)
    assert "examine a" not in stage.node.events


@pytest.mark.parametrize("phase", ["prepared", "committed", "aborted"])
def test_a_node_without_an_update_rehearses(stage, record, phase):
    record["PHASE"] = phase
    records.save(record)
    assert rehearsal.rehearse([A], 2.0)[A]["verdict"] == "passed"


def refused(stage):
    stage.failing = {"wait_complete": ["refused"]}
    rehearsal.rehearse([A, B], 2.0)


def test_a_refusal_counts_for_the_same_process(stage):
    refused(stage)
    (blocker,) = rehearsal.blockers(unit())
    assert (blocker.code, blocker.unit) == ("dump-refused", A)


@pytest.mark.parametrize(
    "other",
    [
        {"criu": "4.3"},
        {"identity": {"boot": "another boot"}},
        {"identity": {100: "78"}},
    ],
)
def test_a_refusal_is_forgotten_where_it_could_be_another(stage, other):
    refused(stage)
    vars(stage).update(other)
    assert rehearsal.blockers(unit()) == []


def test_a_refusal_is_forgotten_with_another_kernel_or_main_process(stage):
    refused(stage)
    assert rehearsal.blockers(unit(main_pid=101)) == []
    assert rehearsal.blockers(unit("c.service")) == []
    stage.node.running.release = "6.12.2"
    assert rehearsal.blockers(unit()) == []


def test_without_criu_nothing_is_known(stage, monkeypatch):
    refused(stage)

    def missing():
        raise KupError("criu is not installed")

    monkeypatch.setattr(rehearsal.criu_command, "version", missing)
    assert rehearsal.blockers(unit()) == []


def test_a_later_rehearsal_counts_and_others_stay(stage, tmp_path):
    refused(stage)
    stage.failing = {}
    rehearsal.rehearse([A], 2.0)
    assert rehearsal.blockers(unit()) == []
    assert rehearsal.blockers(unit(B))
    kept = json.loads((tmp_path / "rehearsals.json").read_text())
    assert {name: each["verdict"] for name, each in kept.items()} == {A: "passed", B: "refused"}
    assert kept[A] == {
        "verdict": "passed",
        "sentence": "",
        "frozen_s": 0.1,
        "boot": "this boot",
        "main_pid": "100",
        "started": "77",
        "criu": "4.2",
        "kernel": "6.12.1",
    }


@pytest.mark.parametrize("text", ["", "{", "[]", "7"])
def test_a_damaged_file_stands_for_nothing(stage, tmp_path, text):
    (tmp_path / "rehearsals.json").write_text(text)
    assert rehearsal.blockers(unit()) == []
    rehearsal.rehearse([A], 2.0)
    assert json.loads((tmp_path / "rehearsals.json").read_text())[A]["verdict"] == "passed"
