# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What runs on a node without a controller: one operation at a time, and exit codes that tell what is left to do."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import cli, lock, reasons, rehearsal, switch, watch
from ansible_collections.kup.fleet.plugins.module_utils._update import record as records


@pytest.fixture
def done(node, record, monkeypatch, tmp_path):
    done = []
    monkeypatch.setattr(lock, "RUN", str(tmp_path / "run"))
    monkeypatch.setattr(reasons, "_PATH", str(tmp_path / "run/reason"))
    monkeypatch.setattr(switch, "depart", lambda *arguments: done.append(arguments[1:]))
    monkeypatch.setattr(switch, "go_back", lambda *arguments: done.append(arguments))
    monkeypatch.setattr(rehearsal, "rehearse", lambda *arguments: done.append(arguments) or {"a.service": {}})
    monkeypatch.setattr(watch, "look", lambda: done.append("look"))
    monkeypatch.setattr(cli.cleanup, "undo", lambda *arguments: done.append(arguments))
    return done


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["switch"], ("7.2.1", "switching")),
        (["fallback", "nobody committed"], ("nobody committed", records.UNDECIDED)),
        (["fallback"], (reasons.UNKNOWN, records.UNDECIDED)),
        (["return"], (reasons.UNKNOWN, records.RETURNABLE)),
        (["rehearse", "2.5", "a.service", "b.service"], (["a.service", "b.service"], 2.5)),
        (["watch"], "look"),
        (["undo", "a.service", "/images"], ("a.service", "/images")),
    ],
)
def test_commands(done, arguments, what):
    assert cli.main(arguments) == 0
    assert done == [what]


@pytest.mark.parametrize(
    "arguments", [[], ["return", "x"], ["switch", "now"], ["undo", "a.service"], ["rehearse", "2"]]
)
def test_what_is_no_command(done, arguments, capsys):
    assert cli.main(arguments) == cli.GIVEN_UP
    assert "expected 'switch'" in capsys.readouterr().err
    assert not done


@pytest.mark.parametrize(("verb", "phases"), [("fallback", records.UNDECIDED), ("return", records.RETURNABLE)])
def test_the_reason_that_was_left_is_taken_once(done, verb, phases):
    reasons.leave("it is slow")
    cli.main([verb])
    cli.main([verb])
    assert done == [("it is slow", phases), (reasons.UNKNOWN, phases)]


def test_the_deadline_does_not_take_the_reason_of_another(done):
    reasons.leave("it is slow")
    cli.main(["fallback", "nobody committed"])
    assert done == [("nobody committed", records.UNDECIDED)]


@pytest.mark.parametrize("phase", ["probation", "committed", "checkpointing", "switching"])
def test_only_a_prepared_node_switches(done, record, phase):
    record["PHASE"] = phase
    records.save(record)
    assert cli.main(["switch"]) == cli.GIVEN_UP
    assert not done


@pytest.mark.parametrize(
    "arguments", [["switch"], ["fallback", "x"], ["fallback"], ["return"], ["rehearse", "2", "a.service"]]
)
def test_one_operation_at_a_time(done, arguments, capsys):
    with lock.exclusive():
        assert cli.main(arguments) == cli.GIVEN_UP
    assert not done
    assert "under way on this node" in capsys.readouterr().err
    assert cli.main(arguments) == 0


@pytest.mark.parametrize("arguments", [["watch"], ["undo", "a.service", "/images"]])
def test_some_need_no_lock(done, arguments):
    with lock.exclusive():
        assert cli.main(arguments) == 0
    assert done


def test_a_switch_that_was_given_up_in_good_order_says_so(done, monkeypatch, capsys):
    def give_up(*arguments):
        raise KupError("no room")

    monkeypatch.setattr(switch, "depart", give_up)
    assert cli.main(["switch"]) == cli.GIVEN_UP
    assert capsys.readouterr().err == "kup: no room\n"
