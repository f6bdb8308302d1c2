# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Updated nodes run for a while and are judged once more before the next batch begins."""

from __future__ import annotations

import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _soak

FIT = {"kup_checkpoint_fit": {"needs_update": True, "phase": "prepared"}}
FAILED = {**FIT, "__kup_failed": True}
NONE, MINUTE = _soak.Length(), _soak.Length(60)
BATCHES = [["a"], ["b", "c"], ["d", "e"]]


def kept(ended):
    return {**FIT, "kup_restore_kept": {"failed": False, "ended": ended}}


FACTS = {"a": kept(100.0), "b": FIT, "c": FIT, "d": FIT, "e": FIT}


def test_the_first_node_of_a_batch_goes_ahead_of_it():
    assert _soak.waves(BATCHES, MINUTE, lambda batch: [batch]) == [["a"], ["b"], ["c"], ["d"], ["e"]]
    assert _soak.waves([["a"], ["b"]], MINUTE, lambda batch: [batch]) == [["a"], ["b"]]
    waves = _soak.waves([["a"], ["b", "c", "d"]], MINUTE, lambda batch: [[node] for node in batch])
    assert waves == [["a"], ["b"], ["c"], ["d"]]


def test_without_a_soak_no_node_goes_ahead():
    assert _soak.waves(BATCHES, NONE, lambda batch: [batch]) == BATCHES


@pytest.mark.parametrize(
    ("node", "seconds", "facts", "soak"),
    [
        ("b", 60, {}, _soak.Soak(("a",), 100.0, 160.0)),
        ("b", 0, {}, _soak.Soak()),
        # The first batch, and all but the first of a batch.
        ("a", 60, {}, _soak.Soak()),
        ("c", 60, {}, _soak.Soak()),
        ("b", 60, {"b": {**FIT, "__kup_soaked": True}}, _soak.Soak()),
        ("b", 60, {"b": FAILED}, _soak.Soak()),
        # All nodes that were updated, from the time when the last one had ended.
        ("d", 60, {"b": kept(500.0), "c": kept(400.0)}, _soak.Soak(("a", "b", "c"), 500.0, 560.0)),
        ("d", 60, {"b": kept(500.0), "c": FAILED}, _soak.Soak(("a", "b"), 500.0, 560.0)),
        # A node whose turn did not come to its end.
        ("d", 60, {"b": kept(500.0), "c": kept(None)}, _soak.Soak(("a", "b", "c"), 900.0, 960.0)),
    ],
)
def test_who_judges_whom_and_when(node, seconds, facts, soak):
    assert _soak.due(node, {**FACTS, **facts}, BATCHES, _soak.Length(seconds), now=900.0) == soak


def test_after_the_last_batch_all_nodes_that_were_updated_are_judged():
    done = {"a": kept(100.0), "b": kept(300.0), "c": FAILED}
    batches = [["a"], ["b", "c"]]
    assert _soak.last(done, batches, MINUTE, now=900.0) == _soak.Soak(("a", "b"), 300.0, 360.0)
    assert _soak.last(done, batches, NONE, now=900.0) == _soak.Soak()
    assert _soak.last({**done, "c": FIT}, batches, MINUTE, now=900.0) == _soak.Soak()
    assert _soak.last({"a": FAILED}, [["a"]], MINUTE, now=900.0) == _soak.Soak()


def test_the_others_of_a_batch_begin_after_the_soak_only():
    said = "the soak after batch 1 (kup_soak) did not come to its end on b, the first node of the next batch"
    done = {**FACTS, "b": {**FIT, "__kup_soaked": True}}
    assert [_soak.objection(node, FACTS, BATCHES, MINUTE) for node in ("a", "b", "c")] == ["", "", said]
    assert [_soak.objection(node, done, BATCHES, MINUTE) for node in ("a", "b", "c")] == ["", "", ""]
    assert _soak.objection("c", FACTS, BATCHES, NONE) == ""
    assert _soak.unfinished(FACTS, BATCHES, MINUTE) == said
    assert _soak.unfinished({"a": kept(1.0)}, [["a"]], MINUTE) == ""


@pytest.mark.parametrize(
    ("length", "ends", "until"),
    [
        (_soak.Length(60, 0), [100.0, 300.0], 360.0),
        # One node runs for an hour, four for a quarter.
        (_soak.Length(0, 1), [100.0], 3700.0),
        (_soak.Length(0, 1), [100.0] * 4, 1000.0),
        # The canary has run for 1900 s when three others come: 1700 s are left for four.
        (_soak.Length(0, 1), [2000.0, 100.0, 2000.0, 2000.0], 2425.0),
        # It has run for long enough before: what is left is the time of the others.
        (_soak.Length(60, 1), [100.0, 9000.0], 9060.0),
        (_soak.Length(7200, 1), [100.0], 7300.0),
        (_soak.Length(0, 0.5), [0.0, 0.0], 900.0),
    ],
)
def test_a_soak_is_counted_in_seconds_and_in_hours_of_all_nodes(length, ends, until):
    assert length.until(ends) == until


def test_hours_alone_are_a_soak():
    hours = _soak.Length(0, 2)
    assert _soak.waves(BATCHES, hours, lambda batch: [batch]) == [["a"], ["b"], ["c"], ["d"], ["e"]]
    assert _soak.due("b", FACTS, BATCHES, hours, now=900.0) == _soak.Soak(("a",), 100.0, 7300.0)
    assert _soak.objection("c", FACTS, BATCHES, hours).startswith("the soak after batch 1 (kup_soak)")
