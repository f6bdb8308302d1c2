"""What one look at a node means: still under way, or come to which end."""

import os
import subprocess

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records
from ansible_collections.kup.fleet.plugins.plugin_utils import _node_status

OLD, NEW = "6.12.117+deb13-cloud-amd64", "7.2.12+deb13-cloud-amd64"
BOOT = "0f0e9c9e-6c3c-4f4e-8a55-6f1f2b3c4d5e"


def answer(phase="", kernel=OLD, restored="no", busy=0, told=""):
    record = records.sealed(f"PHASE={phase}\nKERNEL_OLD={OLD}\nKERNEL_NEW={NEW}\n") if phase else ""
    return f"boot {BOOT}\nkernel {kernel}\nuptime 12.34\nrestored {restored}\nbusy {busy}\n{told}{record}"


def state(*arguments, **keywords):
    return _node_status.parse(answer(*arguments, **keywords)).state()


@pytest.mark.parametrize("phase", records.PHASES)
def test_while_a_chain_runs_nothing_is_at_its_end(phase):
    assert state(phase, busy=1) is None


@pytest.mark.parametrize(("phase", "kernel"), [("switching", OLD), ("switching", NEW), ("returning", OLD)])
def test_a_boot_that_restores_is_under_way(phase, kernel):
    assert state(phase, kernel) is None


def test_a_trial_is_one_when_the_applications_run_on_the_new_kernel():
    assert state("probation", NEW, "yes") == "probation"
    assert state("probation", NEW, "no") is None, "a second boot of the new kernel restores first"
    assert state("probation", OLD, "yes") is None, "a crash into the old kernel restores first"


def test_pending_pages_are_waited_for():
    status = _node_status.parse(
        answer("probation", NEW, "yes", told="StatusText=restored, 5 pages left\n\nStatusText=\n")
    )
    assert status.state() is None
    assert status.text() == f"kernel {NEW}, phase probation, restored, 5 pages left; pages are pending"


@pytest.mark.parametrize("phase", ["prepared", "committed", "fell_back", "aborted", "failed"])
def test_ends(phase):
    assert state(phase) == phase


def test_a_checkpoint_that_nobody_writes_any_more():
    assert state("checkpointing") == "interrupted"


def test_a_node_without_a_record():
    assert state() == "none"


def test_the_line_ends_of_a_terminal_are_no_part_of_it():
    status = _node_status.parse(answer("probation", NEW, "yes").replace("\n", "\r\n"))
    assert (status.boot_id, status.kernel, status.state()) == (BOOT, NEW, "probation")


LECTURE = "\nWe trust you have received the usual lecture from the local System\nAdministrator.\n\n    #1) Respect the privacy of others.\n\n"


@pytest.mark.parametrize(
    "before", ["\n", LECTURE, LECTURE.replace("\n", "\r\n"), "boot of node1\n", "x" * 65535 + "\n"]
)
def test_lines_before_the_answer_are_no_part_of_it(before):
    status = _node_status.parse(before + answer("probation", NEW, "yes"))
    assert (status.boot_id, status.kernel, status.state()) == (BOOT, NEW, "probation")


@pytest.mark.parametrize("before", ["x" * 65536 + "\n", "no line's end: "])
def test_what_is_no_line_before_the_answer_or_too_much_hides_it(before):
    assert _node_status.parse(before + answer("probation", NEW, "yes")) is None


@pytest.mark.parametrize("text", ["", "\n", "Connection closed", answer("probation")[:60]])
def test_half_an_answer_is_none(text):
    assert _node_status.parse(text) is None


def test_a_broken_record_is_no_silence():
    with pytest.raises(KupError, match="transaction record"):
        _node_status.parse(answer() + "PHASE=gr")


def test_the_command_gives_a_whole_answer_on_any_machine():
    done = subprocess.run(["sh", "-c", _node_status.COMMAND], capture_output=True, text=True, check=True)
    assert _node_status.parse(done.stdout).kernel


@pytest.mark.parametrize(
    ("told", "busy"),
    [("dead\n\nauto-restart\n", 0), ("running\n\ndead\n", 1), ("dead\n\nstop-post\n", 1), ("start\n", 1)],
)
def test_what_only_waits_to_be_tried_again_does_not_run(tmp_path, told, busy):
    systemctl = tmp_path / "systemctl"
    systemctl.write_text(f"#!/bin/sh\nprintf '{told}'\n")
    systemctl.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    said = subprocess.run(
        ["sh", "-c", _node_status.COMMAND], env={"PATH": path}, check=True, capture_output=True, text=True
    )
    assert f"\nbusy {busy}\n" in said.stdout
