# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The reason of a way back is handed over in a file, and no trouble with the file keeps a node from going back."""

import stat

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._update import reasons


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(reasons, "_PATH", str(tmp_path / "run/reason"))
    return tmp_path / "run/reason"


def test_it_is_for_root_only_and_one_line_of_some_length(path):
    reasons.leave("it is\nslow\0 " + "x" * 5000)
    assert (stat.S_IMODE(path.parent.stat().st_mode), stat.S_IMODE(path.stat().st_mode)) == (0o700, 0o600)
    taken = reasons.take()
    assert taken.startswith("it is slow xxx") and len(taken) == 2000
    assert not path.exists()


def test_what_an_earlier_one_has_left_does_not_count(path):
    reasons.leave("it was slow")
    reasons.leave("it is slow")
    assert reasons.take() == "it is slow"
    assert reasons.take() == reasons.UNKNOWN


def test_a_starter_withdraws_its_own_reason_only(path):
    reasons.leave("it is slow")
    reasons.withdraw("it is wrong")
    assert path.exists()
    reasons.withdraw("it is slow")
    assert not path.exists()


def test_a_file_that_cannot_be_written_or_read_is_no_trouble(path):
    path.mkdir(parents=True)
    reasons.leave("it is slow")
    reasons.withdraw("it is slow")
    assert reasons.take() == reasons.UNKNOWN


def test_an_earlier_reason_does_not_stand_for_one_that_cannot_be_written(path, monkeypatch):
    def fail(*_arguments):
        raise OSError(28, "No space left on device")

    reasons.leave("it was slow")
    monkeypatch.setattr(reasons, "write_file", fail)
    reasons.leave("it is slow")
    assert reasons.take() == reasons.UNKNOWN
