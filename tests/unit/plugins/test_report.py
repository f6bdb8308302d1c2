# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A report that cannot be written: a node goes on with its update, a rollout does not begin."""

from types import SimpleNamespace

import pytest

from ansible_collections.kup.fleet.plugins.action import kup_report
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError

RUN = "20261126T083000-1a2b3c"
ROW = {"name": "node1", "result": "under_way"}


@pytest.fixture
def warnings(monkeypatch):
    said = []
    monkeypatch.setattr(kup_report, "Display", lambda: SimpleNamespace(warning=said.append))
    return said


def call(directory, **given):
    action = kup_report.ActionModule.__new__(kup_report.ActionModule)
    action._task = SimpleNamespace(check_mode=False)
    nothing = dict.fromkeys((*kup_report._ROLLOUT, "row", "finish", "killed", "show", "textfile", "lock"))
    return action.work({**nothing, "directory": str(directory), "run_id": RUN, **given}, {})


@pytest.fixture
def full(tmp_path):
    """A directory in which no row can be written."""
    (tmp_path / "rows").write_text("")
    return tmp_path


def test_a_row_that_cannot_be_written_is_said_and_fails_nothing(full, warnings):
    result = call(full, row=ROW)
    assert result["row"] == ROW
    assert len(warnings) == 1 and f"The report {full}/{RUN}.json cannot be read or written" in warnings[0]


def test_a_row_that_can_is_written_without_a_word(tmp_path, warnings):
    assert call(tmp_path, row=ROW)["row"]["result"] == "under_way"
    assert len(list((tmp_path / "rows" / RUN).glob("*.json"))) == 1
    assert not warnings


@pytest.mark.parametrize("row", [{"name": "node1", "result": "perfect"}, {"result": "lost"}])
def test_a_bad_row_fails(tmp_path, warnings, row):
    with pytest.raises(KupError):
        call(tmp_path, row=row)


@pytest.mark.parametrize("given", [{"started": 1.0}, {"finish": True, "reason": "it is slow"}])
def test_neither_the_beginning_nor_the_end_goes_without_a_report(full, given):
    with pytest.raises(KupError, match="cannot be read or written"):
        call(full, **given)
