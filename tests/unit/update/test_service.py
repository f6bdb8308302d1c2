# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The services that take a node to another kernel: how they are started, and when they are not."""

import contextlib
import time
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import lock, reasons, service, unit_names
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records


@pytest.fixture
def started(node, record, monkeypatch, tmp_path):
    """What was started on a node on probation, whose way-back services are inactive."""
    started = []
    monkeypatch.setattr(lock, "RUN", str(tmp_path / "run"))
    monkeypatch.setattr(reasons, "_PATH", str(tmp_path / "run/reason"))
    monkeypatch.setattr(service, "start", lambda unit, arguments, until: started.append((unit, arguments)))
    monkeypatch.setattr(service, "run", lambda argv, check: types.SimpleNamespace(stdout="inactive\nfailed\n"))
    node.running.release = "7.2.1"
    record["PHASE"] = "probation"
    records.save(record)
    return started


def test_a_node_on_probation_goes_back(started):
    service.go_back("it is slow")
    assert started == [(unit_names.FALLBACK, ["fallback"])]
    assert reasons.take() == "it is slow"


def test_the_reason_is_there_before_the_service_and_in_no_command_line(started, monkeypatch):
    words = []
    monkeypatch.setattr(service, "start", lambda unit, arguments, until: words.extend([*arguments, reasons.take()]))
    service.go_back("it is slow")
    assert words == ["fallback", "it is slow"]


def test_a_service_that_did_not_start_leaves_no_reason(started, monkeypatch):
    def refuse(*_arguments):
        raise KupError("Unit kup-fallback.service was already loaded.")

    monkeypatch.setattr(service, "start", refuse)
    with pytest.raises(KupError, match="already loaded"):
        service.go_back("it is slow")
    assert reasons.take() == reasons.UNKNOWN


def test_a_committed_node_goes_back_only_if_that_is_meant(started, record):
    record["PHASE"] = "committed"
    records.save(record)
    with pytest.raises(KupError, match="no way back"):
        service.go_back("it is slow")
    service.go_back("it is slow", committed=True)
    assert started == [(unit_names.FALLBACK, ["return"])]
    assert reasons.take() == "it is slow"


def test_a_node_that_another_run_works_on_is_left_alone(started, record):
    records.renew(record, "somebody else")
    records.save(record)
    with pytest.raises(KupError, match="somebody else works on this node"):
        service.go_back("it is slow", owner="me")
    assert not started
    service.go_back("it is slow", owner="somebody else")
    assert started


@pytest.mark.parametrize("said", ["active\ninactive\n", "inactive\nactivating\n"])
def test_a_node_that_goes_back_by_itself_is_not_told_to(started, monkeypatch, said):
    monkeypatch.setattr(service, "run", lambda argv, check: types.SimpleNamespace(stdout=said))
    service.go_back("it is slow")
    assert not started


def test_nothing_begins_while_somebody_is_at_work_on_the_node(started):
    with lock.exclusive(), pytest.raises(KupError, match="under way on this node"):
        service.go_back("it is slow")
    assert not started


def test_a_switch_needs_nobody_and_cleans_up_after_itself(monkeypatch):
    called = []
    monkeypatch.setattr(service, "run", lambda argv, **options: called.append(argv))
    service.start(unit_names.SWITCH, ["switch"])
    reset, start = called
    assert reset == ["systemctl", "reset-failed", "kup-switch.service"]
    assert start[0] == "systemd-run"
    # Else the end of the service, or of a CRIU that took too much memory, would end what holds the frozen trees.
    assert {"--property=KillMode=process", "--property=OOMPolicy=continue", "--unit=kup-switch.service"} <= set(start)
    assert any(word.startswith("--property=ExecStopPost=/bin/sh ") for word in start)
    assert start[-1] == "switch"


@pytest.mark.parametrize(("until", "begins"), [(0.0, True), (1000.5, True), (999.0, False)])
def test_nothing_begins_later_than_whoever_asked_waits_for(monkeypatch, until, begins):
    calls = []
    monkeypatch.setattr(service, "run", lambda words, **_options: calls.append(words[0]))
    monkeypatch.setattr(service.time, "clock_gettime", {time.CLOCK_BOOTTIME: 1000.0}.get)
    with (
        contextlib.nullcontext()
        if begins
        else pytest.raises(KupError, match="until 999 s after the boot.*after 1000 s")
    ):
        service.start(unit_names.SWITCH, ["switch"], until)
    assert ("systemd-run" in calls) == begins


def rehearse(monkeypatch, code=0, stdout='{"a.service": {"verdict": "passed"}}\n', stderr=""):
    called = []

    def run(argv, **options):
        called.append((argv, options))
        return types.SimpleNamespace(returncode=code, stdout=stdout, stderr=stderr)

    monkeypatch.setattr(service, "run", run)
    return called


def test_a_rehearsal_is_a_service_that_cleans_up_after_itself(monkeypatch):
    called = rehearse(monkeypatch)
    assert service.rehearse(["a.service", "b.service"], 2.5) == {"a.service": {"verdict": "passed"}}
    ((words, options),) = called
    assert words[-4:] == ["rehearse", "2.5", "a.service", "b.service"]
    assert {"systemd-run", "--wait", "--pipe", "--unit=kup-rehearsal.service", "--property=KillMode=process"} <= set(
        words
    )
    assert any(word.endswith("/switch/end-rehearsal") for word in words)
    assert options["timeout"] > 2 * 2.5 + 2 * 60


@pytest.mark.parametrize(
    ("stderr", "says"),
    [("odd\nkup: It is under way.\n", "^It is under way.$"), ("", "kup-rehearsal.service has ended with 3")],
)
def test_a_rehearsal_that_has_failed_says_why(monkeypatch, stderr, says):
    rehearse(monkeypatch, code=3, stdout="", stderr=stderr)
    with pytest.raises(KupError, match=says):
        service.rehearse(["a.service"], 2.5)
